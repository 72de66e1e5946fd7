/** Long requests for fiction, as writers give them: a heading, an instruction, and a page of plot and wishes. */
import type { Dice } from "./Dice.ts"
import type { Kind } from "./Patterns.ts"

export const briefs: Kind = {
  labels: ["creative"],
  patterns: `{genre}: {theme}{br}Write a scene in which {plot}. {brief}
Title: {theme}{br}Write a short story, about {number}00 words. {brief}
Write a first-person narrative from the perspective of {character} who {plot}. {brief}
Write a chapter that follows {character} and {character}. {brief}
{theme}{br}Write a story where {character} meets {character}. {brief}
Write one scene within a larger story set in {country}. {brief}
{genre} (in the style of {author}){br}{brief}{br}Write the next chapter.
{brief}{br}Write the scene that follows, in {mood} prose.
Write a day in the life of {character}. {brief}
Write a story told entirely through letters and diary entries. {brief}
Write an entry for a fictional archive about {things}. {brief}
# {theme}{br}{brief}{br}{brief}{br}Write this as a {form}.`
}

/** Some sentences of a brief, with slots of their own. */
export const brief = (dice: Dice): string =>
  Array.from({ length: 3 + dice.below(9) }, () => dice.pick(sentences)).join(dice.chance(0.2) ? "\n" : " ")

const sentences = `{name} has not spoken to {name} since {plot}.
The story opens with {name} waiting outside in the rain, unsure whether to knock.
{name} is {character}, stubborn and afraid of being forgotten.
She keeps her past hidden, but her hands give her away.
He laughs too loudly when he is nervous, and everyone in the village knows it.
Their relationship is strained by an old betrayal that neither will name.
The setting is a small town in {country}, late in autumn, decades ago.
Set it aboard an ageing ship far from any harbour.
The tone should be {mood}, with moments of dry humour.
Keep the dialogue natural and the subtext rich.
Use the first person and the present tense.
Write in the third person, close to {name}'s thoughts.
Show, don't tell: let small gestures carry the emotion.
Avoid clichés and purple prose.
Do not resolve the conflict; end on an image.
End with a twist that the reader could have seen coming.
The protagonist wants to escape, yet every choice binds them tighter.
The antagonist believes that he is the hero of this tale.
Include sensory detail: the smell of smoke, the cold of the floor, a distant bell.
Focus on character and atmosphere rather than action.
Aim for {number}00 to {number}000 words.
Backstory: {plot}.
Scene: {name} finds {character} in an abandoned theatre at midnight.
Characters: {name}, a weary detective; {name}, a thief with a conscience.
The magic of this world demands a price, and {name} has paid it once already.
A rival clan, a stolen heirloom and a promise made to a dying mother drive the plot.
Let the reader feel the tension between duty and desire.
There should be a duel, and someone should lose more than the fight.
{name} narrates with the bitter wit of someone who has survived.
The monster is never seen, only heard behind the wall.
They share a meal, a lie and, at last, a secret.
Her sister's letter arrives too late.
The city never sleeps, and neither does its guilt.
He is torn between the girl he loves and the crew he leads.
Make their banter sharp, and let the affection show in what they do not say.
The narrator is unreliable, and slowly realises it.
Something is wrong with the lighthouse, the children and the tide.
Write it as literary fiction with an experimental structure.
Draw on folklore of {country} without explaining it.
The teenager's voice should sound honest, awkward and angry.
Two strangers are trapped in a lift and fall into an unlikely friendship.
The robot has begun to dream, and hides it from its maker.
Give each character a distinct voice.
Weave in a flashback to the night when {plot}.
The romance is slow, hesitant and never spoken aloud.
A festival, a storm and a missing child bring the neighbours together.
Take inspiration from {author}, but make the voice your own.
It should read like a film noir: shadows, rain, regret.
The world ended quietly, and people still argue about whose fault it was.
By the last paragraph {name} must choose whom to save.`.split("\n")
