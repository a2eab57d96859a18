// What a question can be asked with, and what was decided, in words.

const MODES = {
  passages: "Passages",
  "full documents": "Full documents",
  sources: "The documents that you named",
};
const INSISTED = /^(?:passages|full documents|sources) were asked for$/;

/** `body` is what goes into the question's. */
export const CHOICES = {
  auto: { label: "Automatic", body: { mode: "auto" } },
  passages: { label: "Passages", body: { mode: "passages" } },
  whole: { label: "Full documents", body: { mode: "full documents" } },
  none: { label: "No documents", body: { mode: "auto", rag_enabled: false } },
};

/** Which of them a question was asked with. */
export function choiceOf({ mode = "auto", rag_enabled: rag }) {
  if (rag === false) return "none";
  return Object.keys(CHOICES).find((one) => CHOICES[one].body.mode === mode) ?? "auto";
}

/** What was looked at to answer, and why, as a sentence. */
export function howWords(plan, body = {}) {
  if (!plan) return "";
  if (!plan.rag) return body.rag_enabled === false ? "No documents, as you chose." : "No documents were asked.";
  const reasons = plan.reasons ?? [];
  const isChosen = (body.mode ?? "auto") !== "auto" || reasons.some((one) => INSISTED.test(one));
  const why = reasons.filter((one) => !INSISTED.test(one));
  if (!why.length && plan.mode === "passages" && !isChosen)
    why.push("nothing in the question asks for whole documents");
  const end = why.length ? `: ${why.join("; ")}.` : ".";
  return `${MODES[plan.mode] ?? plan.mode}, ${isChosen ? "as you chose" : "chosen automatically"}${end}`;
}
