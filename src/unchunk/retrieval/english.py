"""English, as far as telling what a question is about needs it: words as data, and their roots."""

from unchunk.retrieval.words import Word, words_of


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PERSONS = _set("he him his himself she her hers herself")
THINGS = _set("it its itself they them their theirs themselves")
POINTERS = _set("this that these those")
PEOPLE = _set("people person someone anyone everyone somebody anybody everybody")
SPANS_OF_TIME = _set("year month week day morning evening time century decade season")
# Behind one of these 'that' points to something; elsewhere it joins two clauses.
BEFORE_THAT = _set(
    "about of like for on in to by with after before do does did is was are were can how what "
    "why when where and or from than at"
)
DETERMINERS = _set("the a an they he she we you i it")
# Words that say nothing of a subject: grammar, courtesy, and verbs of asking and telling.
EMPTY = _set(
    """
    a an the and or but nor so yet if then than as at by for from in into of off on onto out over
    per to up upon with within without about above across after against along among around before
    behind below beneath beside besides between beyond despite during except inside like near
    since through throughout toward towards under until till via versus vs because although though
    while whereas whether unless i me my mine myself we us our ours ourselves you your yours
    yourself he him his himself she her hers herself it its itself they them their theirs
    themselves this that these those here there one ones who whom whose which what when where why
    how whoever whatever am is are was were be been being do does did doing done have has had
    having can could may might must shall should will would ought isn't aren't wasn't weren't
    don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't shouldn't it's that's
    what's who's where's how's there's he's she's they're i'm i'd i've i'll you're you've we're
    let's not no yes any some each every all both either neither none few many much more most less
    least several other others another such same own only just even also too very quite rather
    really again ever never always often sometimes still already once now today soon else instead
    anyway tell know say said ask explain describe elaborate continue expand summarize summarise
    give show find want wish need please thanks thank okay ok yeah yep sure cool wow great
    interesting interested hear heard learn see look talk mention mentioned mean means think
    happen happens happened happening let go goes going went get gets got getting make makes made
    making come comes came use used using called call thing things something anything everything
    nothing someone anyone everyone way ways kind kinds type types sort example examples lot lots
    bit information info details detail question answer difference first second third last next
    previous latter former two three good bad best better new old big main important different
    similar possible able well far further long
    """
)
# Words for a document and for its parts, which name none.
DOCUMENTS = _set(
    """
    document documents doc docs file files text texts paper papers article articles report reports
    book books story letter essay note notes memo manual guide page pages pdf chapter chapters
    section sections content contents part parts paragraph paragraphs sentence sentences word words
    line lines bullet bullets list outline point points key idea ideas message takeaway takeaways
    short brief briefly concise quick simple plain top purpose topic topics subject deal deals cover
    covers covered contain contains say says said tldr
    """
)
# What is asked of several documents, whatever they are about.
COMPARING = _set(
    "compare compares compared comparing comparison contrast contrasts differ differs difference"
    " differences similarity similarities common agree agrees disagree disagrees relate related"
)


def says_something(word: Word) -> bool:
    plain = word.plain
    return plain not in EMPTY and (len(plain) > 1 or not plain.isascii() or plain.isdigit())


def roots(text: str) -> frozenset[str]:
    """The roots of the words that say something."""
    return frozenset(root(word.plain) for word in words_of(text) if says_something(word))


def root(word: str) -> str:
    """What the forms of one English word share, near enough to compare two texts by."""
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word
