/** Patterns of chat that asks for invented or well-worded text; as in `Patterns.ts`. */
import type { Kind } from "./Patterns.ts"

export const creative: Kind = {
  labels: ["creative"],
  patterns: `Write a {form} about {theme}.
write a {mood} {form} about {theme} in the style of {author}
Can you write me a {form} where {plot}?
Write the first chapter of a {genre} novel in which {plot}. The tone should be {mood}.
Continue this story: {plot}. Suddenly,
Create a {mood} dialogue between {character} and {character} about {theme}.
You are {character}. Stay in character and tell me about {theme}.
Pretend to be {character} and answer as they would.
Come up with ten names for a {genre} character who loves {theme}.
Give me ideas for a {genre} plot with {character} and {character}
Write a scene for a {genre} screenplay: {plot}. Include dialogue and vivid description.
Rewrite this as a {form}, make it {mood}: {plot}.
Write lyrics for a {mood} song about {theme}
Describe a world in which {plot}, with its cultures, conflicts and legends.
write a fanfiction where {character} meets {character} and they talk about {theme}
Write a {mood} monologue for {character}, who has just learned that {plot}.
I want a {form} from the point of view of {character}. Use rich imagery and a surprising ending.
Draft a {mood} blog post about {theme} with a catchy opening line
Let's roleplay: I am {character}, you are {character}. Begin.
Make up a joke about {theme}
Schreibe ein {mood} Gedicht über {theme}.
Schreib eine Geschichte, in der {plot}.
Escribe un cuento sobre {theme} con un final inesperado.
Écris un poème sur {theme}.
写一首关于{theme}的诗
请写一个短篇故事，主角是{character}
Напиши рассказ, в котором {plot}.
{theme}について物語を書いてください
Write a {form} about {theme}. {wish} {wish} {wish}
{genre} story. {plot}. {wish} {wish}
Write a long, detailed {genre} story in which {plot}. Main characters: {name}, {character}. {wish} {wish} {wish}
write a scene: {plot}. {name} talks to {name}. {wish}
Write chapter {number} of my {genre} novel. In the last chapter, {plot}. {wish} {wish}
What if {plot}? Write an alternate history of it in detail.
Write a {mood} {form} in which {character} meets {character}.
Compose a {mood} melody or chord progression for a song about {theme}
Make a character sheet for {character} in a tabletop role-playing game
You are the dungeon master of a {genre} campaign. Describe where {character} wakes up and ask what I do.
Write the script of a short {mood} video in which {plot}
Think of a {mood} title and tagline for a {form} about {theme}
Create a fictional {genre} world: its history, its factions and a map. {wish}
Write a {mood} product description for a line of {things} as if told by {character}
Write a rap battle between {character} and {character}
Craft a {form} that captures {theme} without naming it. {wish}
Write a comedy sketch in which {plot}. {wish}
Write a list of {number} {mood} one-liners about {theme}
Imagine you are {character} and write to {name} about {theme}.
Write a {mood} email that announces {things} to our customers. {wish}
Help me word a polite letter to {name} about {theme}
Draft a speech on {topic} for a wedding, {mood} and short
Outline a podcast episode on {topic}: hosts, segments, questions to the guest. Make it {mood}.
Write a sample conversation between {character} and {character} for language learners
Act as the game master of a {genre} role-playing game with dice rolls and rules. I play {character}.
Give me tables to roll up random towns and people for a {genre} tabletop campaign
Write an advertisement for {things} that makes people laugh`
}
