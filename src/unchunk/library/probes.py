"""Short passages about unrelated matters, each with a question that it answers.

An embedder is calibrated with them: how near a question is to its own passage, and how near to all
the others, tells where a match begins to mean something.
"""

from typing import NamedTuple


class Probe(NamedTuple):
    question: str
    passage: str


PROBES = (
    Probe(
        "How often should a sourdough starter be fed?",
        "Feed the starter with equal weights of flour and water once a day if it stands in the"
        " kitchen, or once a week if it is kept in the refrigerator. It is ready for baking when"
        " it doubles within six hours and smells pleasantly sour. A grey liquid on top only means"
        " that it is hungry: stir it in and feed it again.",
    ),
    Probe(
        "How much notice must a tenant give before moving out?",
        "The tenancy may be ended by either party with three months' notice to the end of a"
        " calendar month. Notice must be given in writing and signed by all tenants named in the"
        " agreement. The deposit is returned within eight weeks after the keys were handed over,"
        " less the cost of any damage beyond normal wear.",
    ),
    Probe(
        "What do I do when the washing machine shows error E18?",
        "Error E18 means that the machine cannot pump out its water. Switch it off, open the flap"
        " at the lower right, let the remaining water run into a shallow dish and unscrew the"
        " filter. Remove coins, buttons and lint, check that the wheel behind it turns freely, and"
        " close the filter firmly before you start the next programme.",
    ),
    Probe(
        "Why did sales in the northern region fall last quarter?",
        "Revenue in the northern region was 4.1 million, nine percent below the previous quarter."
        " The decline is explained almost entirely by two large customers who postponed their"
        " orders until the new product line becomes available in spring. Order intake recovered in"
        " December, and margins remained stable at 31 percent.",
    ),
    Probe(
        "Which vaccinations does a puppy need in its first months?",
        "Puppies receive their first vaccination against distemper, parvovirus and hepatitis at"
        " eight weeks and a second one four weeks later. Rabies is added at twelve weeks at the"
        " earliest. Until a week after the last injection, keep the animal away from places where"
        " many dogs meet, and have it dewormed every four weeks.",
    ),
    Probe(
        "How do I reset my password if I no longer have access to my email?",
        "If you cannot receive the reset link, choose 'Other ways to sign in' and enter one of the"
        " ten recovery codes that you saved when you switched on two-step sign-in. Without a code,"
        " an administrator of your organisation can confirm your identity and issue a temporary"
        " password, which expires after 24 hours.",
    ),
    Probe(
        "What caused the collapse of the old bridge?",
        "The inquiry found that the suspension bridge fell because of corrosion inside the"
        " northern anchorage, where rain water had entered through a cracked cover for at least"
        " twelve years. Inspections had been limited to the parts that could be seen. The board"
        " recommends that all cables of this type be opened and examined every sixth year.",
    ),
    Probe(
        "When should tomatoes be planted outdoors?",
        "Tomato seedlings go outside after the last night frost, in most gardens from the middle"
        " of May. Choose a sunny bed sheltered from rain, set the plants 60 centimetres apart and"
        " deep enough that the lowest leaves touch the soil, and tie them to a stake. Water the"
        " ground and never the leaves, or blight will follow.",
    ),
    Probe(
        "How many days of parental leave are paid in full?",
        "Employees who have been with the company for at least one year are entitled to sixty"
        " working days of parental leave at full pay, to be taken before the child's third"
        " birthday. Leave can be divided into up to three parts. Please inform your manager and"
        " the personnel office in writing no later than seven weeks before it begins.",
    ),
    Probe(
        "What makes a violin string sound a higher note?",
        "The pitch of a string depends on its length, its tension and its mass. A finger that"
        " presses the string against the fingerboard shortens the part that vibrates, and halving"
        " that length raises the note by an octave. Tightening the peg raises it, too, while a"
        " heavier winding lowers it, which is why the G string is wound with silver.",
    ),
    Probe(
        "Who won the treaty negotiations between the two kingdoms in 1659?",
        "In the peace of 1659 the southern crown gave up its claims to the mountain provinces and"
        " agreed to a marriage between the houses, while its neighbour withdrew from the coastal"
        " towns it had held for twenty years. Historians regard the northern kingdom as the victor"
        " of the negotiations, since its new frontier lasted for more than a century.",
    ),
    Probe(
        "How do vaccines against influenza have to be stored?",
        "Influenza vaccine must be kept between two and eight degrees Celsius and protected from"
        " light. Doses that were frozen have to be discarded even if they look unchanged. Record"
        " the temperature of the refrigerator twice a day, and move the stock to a portable cool"
        " box within thirty minutes if the power fails.",
    ),
    Probe(
        "Which documents are needed to import a used car?",
        "To register a used vehicle from abroad, bring the original certificate of ownership, the"
        " bill of sale, proof that customs duty was paid, and a report of a technical inspection"
        " that is not older than eighteen months. Number plates are issued on the same day once"
        " the insurer's confirmation has arrived at the registration office.",
    ),
    Probe(
        "How does the function handle a missing configuration file?",
        "load_config(path) reads the file as UTF-8 and returns a dictionary. If the file does not"
        " exist, the defaults are returned and a warning is logged; if it exists but cannot be"
        " parsed, a ConfigError with the line number is raised. Environment variables that begin"
        " with APP_ override values from the file in both cases.",
    ),
    Probe(
        "What time does the last ferry to the island leave on Sundays?",
        "From April to October the ferry to the island runs every hour, with the first departure"
        " at 6:30. On Sundays and public holidays the last boat leaves the mainland at 21:15 and"
        " returns at 22:00. Bicycles travel free of charge when there is room; cars must be booked"
        " at least one day ahead at the pier or by telephone.",
    ),
    Probe(
        "Why do leaves turn red in autumn?",
        "As days grow shorter, trees stop producing chlorophyll and the green fades. Yellow and"
        " orange pigments that were hidden all summer become visible, while red anthocyanins are"
        " newly made from sugar trapped in the leaf. Cool, sunny weather without frost gives the"
        " most brilliant colours, because sugar is made by day and kept at night.",
    ),
    Probe(
        "What is covered by the travel insurance if luggage is lost?",
        "If checked luggage is lost by the carrier, the policy pays its current value up to 2,000"
        " per insured person, and up to 300 for necessary purchases when it arrives more than"
        " twelve hours late. Cash, jewellery and electronic devices are excluded. Claims require"
        " the carrier's written report and must be submitted within thirty days.",
    ),
    Probe(
        "How is the winner decided when two chess players have equal points?",
        "Players with equal points are ranked by the result of their game against each other, then"
        " by the sum of the points of all opponents they met, and finally by the number of games"
        " won with the black pieces. If they are still equal after that, two rapid games of ten"
        " minutes each are played with colours reversed.",
    ),
    Probe(
        "How can drinking water be made safe while camping?",
        "Bring water from streams to a rolling boil for one minute, or three minutes above two"
        " thousand metres. Where fuel is short, a filter with pores of 0.2 micrometres removes"
        " bacteria but no viruses, so add chlorine tablets and wait half an hour. Cloudy water"
        " should first stand in a bucket until the mud has settled.",
    ),
    Probe(
        "What did the committee decide about the new school building?",
        "The committee resolved by seven votes to two to build the primary school on the site of"
        " the former brewery. Construction will begin in September and is estimated at 12.4"
        " million. Mrs Alvarez asked that the old lime trees be preserved, and the architect was"
        " instructed to present a revised plan of the playground at the next meeting.",
    ),
    Probe(
        "How do I remove red wine stains from a carpet?",
        "Blot the spilled wine at once with a dry cloth and do not rub. Pour a little cold"
        " sparkling water on the spot and blot again, then cover it with a paste of baking soda"
        " and let it dry overnight before vacuuming. Old marks on wool may need glycerine, left on"
        " for an hour and rinsed out with lukewarm water.",
    ),
    Probe(
        "What is the interest rate of the fixed savings account?",
        "The fixed savings account pays 3.2 percent a year on deposits between 5,000 and 250,000"
        " for a term of two years. Interest is credited annually on 31 December. Early withdrawal"
        " is possible only in case of hardship and costs the interest of 180 days. Balances are"
        " protected by the national guarantee scheme.",
    ),
    Probe(
        "How does a heat pump warm a house in winter?",
        "Even cold outside air holds heat. A refrigerant that boils far below freezing takes it up"
        " in the outdoor unit, a compressor raises its pressure and so its temperature, and in the"
        " condenser the heat passes to the water of the radiators. One kilowatt hour of"
        " electricity moves about three of warmth, less on the coldest days.",
    ),
    Probe(
        "Which exercises help against pain in the lower back?",
        "For most people with lower back pain, staying active helps more than rest. Lie on your"
        " back and draw one knee to the chest for twenty seconds, then the other; follow with ten"
        " slow bridges, lifting the hips until the body forms a line. Stop and see a physician if"
        " numbness spreads into a leg or the pain wakes you at night.",
    ),
)
