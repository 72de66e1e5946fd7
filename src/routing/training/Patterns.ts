/**
 * Patterns of chat, kind by kind; `{name}` stands for an entry of that list in `Slots.ts`. Written for this purpose.
 */

import { creative } from "./CreativePatterns.ts"

export interface Kind {
  readonly labels: ReadonlyArray<string>
  /** As in `Labels.ts`, where it is not that of the label. */
  readonly gain?: number
  /** One pattern per line. */
  readonly patterns: string
}

export const kinds: ReadonlyArray<Kind> = [
  {
    labels: ["coding"],
    patterns: `How do I {build} in {tech}?
Write a {tech} {program} that {does}.
write me a script in {tech} to {build}
I get "{error}" in my {tech} code. How can I fix it?
My {tech} app throws {error} when I try to {build}, any ideas?
Can you refactor this {tech} function so that it is easier to test?
Explain what this {tech} snippet does and improve it: {snippet}
{snippet} why does this give {error}?
Create a {program} with {tech} and {tech}. It should {does}. Include error handling.
Make a web page with {tech} that {does}, with a dark theme and responsive layout
I am building a {program} with {tech}. What is the best way to {build}?
Convert this code from {tech} to {tech}: {snippet}
Write unit tests in {tech} for a {program} which {does}.
Design the database schema and endpoints of a {program} using {tech}.
implement {algorithm} in {tech} and explain its complexity
Optimize this {tech} query, it takes minutes: {snippet}
How can I configure {tech} so that it works with {tech} behind a proxy?
What is the difference between {tech} and {tech} for a {program}?
Schreibe ein Programm in {tech}, das {does}.
Wie kann ich in {tech} den Fehler "{error}" beheben?
Escribe una función en {tech} que implemente {algorithm}.
Comment corriger l'erreur {error} dans mon code {tech} ?
用{tech}写一个程序，实现{algorithm}
请帮我修复这段代码的错误：{snippet}
Напиши функцию на {tech}, которая реализует {algorithm}
{tech}で{algorithm}を実装してください
{code}
{code} fix this
{code}{br}Why does this not work?
What does this do? {code}
Here is my {tech} code:{br}{code}{br}I want it to {build}. What should I change?
I have this {program}: {code} Please rewrite it in {tech}.
Given the following, how can I {build}?{br}{code}
{tech}: {build}
{tech} {build} example
In {tech}, is there a way to {build}?
using {tech} and {tech}, make a {program} that {does}
What's the best way to {build} with {tech}?
Set up {tech} on Ubuntu and explain each command
How to install {tech} in a container and {build}?
You are an expert {tech} developer. Build a {program} that {does} and explain your choices.
I need a {tech} {program} to {build}. {detail}
Implement {algorithm} with {tech}. The input has up to 10^5 elements. Read from standard input.
How do I train a model with {tech} to classify images?
Show me sample {tech} code for {algorithm}
Explain {algorithm} with code
create edge test cases for a {program} which {does}
Design an SQL schema for a {program} that {does}`
  },
  {
    labels: ["math"],
    patterns: `Solve for x: {equation}
Find the {mathObject} of {equation}.
Let f(x) = {expression}. Compute its {mathObject} and show your work.
{name} has {number} {things} and buys {number} more for {number} dollars each. How much does {name} spend?
What is the probability of {event}?
A triangle has sides {number}, {number} and {number}. Find its area.
How many ways are there to {arrange}?
If {equation} and {equation}, what is x + y?
Compute the {mathObject} of the function {expression} from 0 to {number}.
Simplify the expression {expression}.
Two dice are rolled again and again until {event}. What is the expected number of rolls?
{name} and {name} draw cards in turn. Who is more likely to win, and by how much?
Formulate and solve a linear program that ships {things} from {number} plants to {number} customers.
A company's assets rose by {number} dollars and its debts fell by {number}. How did its equity change?
How can I draw points uniformly from a region where {equation}? Derive the density.
A random variable has the density {expression}. Find its mean and variance.
Derive the equations of motion of a system with the energy {expression}.
Explain step by step how to find the {mathObject} of {expression}
Is it true that {theorem}? Give a rigorous proof or a counterexample.
Berechne {number} {operation} {number} und erkläre den Rechenweg.
Beweise, dass {theorem}.
Calcula la probabilidad de {event}.
Résous l'équation {equation}.
求{expression}的导数
证明：{theorem}
Найди решение уравнения {equation}`
  },
  creative,
  {
    labels: ["knowledge"],
    patterns: `What is {topic}?
Explain {topic} to a beginner.
What are the main causes of {topic}?
Give me an overview of {topic} and why it matters.
What are the differences between {topic} and {topic}?
Describe the history of {topic}.
How does {topic} work?
Tell me about {topic}
Can you discuss the effects of {topic} on {topic}?
What do experts think about {topic}? Give examples.
Who discovered {topic} and when?
What are the pros and cons of {topic}?
Give me advice about {topic}
Was ist {topic}? Erkläre es einfach.
¿Qué es {topic} y por qué es importante?
Explique-moi {topic}.
什么是{topic}？
Расскажи мне про {topic}.`
  },
  {
    labels: ["reasoning"],
    patterns: `{puzzle} Who is lying, and how do you know?
Here is a riddle: {puzzle}
{puzzle} What follows? Explain your reasoning.
Analyse the argument: {plot}, therefore {plot}. Is it valid?
Make a plan for {topic} under these constraints: a small budget, two people, and four weeks.
Which option would you choose and why: {topic} or {topic}? Weigh the evidence.
Suppose that {plot}. What would logically follow for {topic}?
Develop a strategy for {topic}, consider the trade-offs and the risks.
Solve this logic puzzle. {puzzle}
Was folgt daraus? {puzzle}
这是一个逻辑题：{puzzle}`
  },
  {
    labels: ["instruction"],
    patterns: `Write exactly {number} sentences about {topic}. Do not use the letter e.
List {number} facts about {topic} as a markdown table with two columns.
Answer in {number} words or fewer: what is {topic}?
Give me {number} bullet points about {topic}, each starting with a verb, no introduction.
Draft a short, formal email to {character} about {topic}.
Write a cover letter for a job in {topic}
Use only lower case letters and avoid commas. Explain {topic}.
Your answer must contain the word "{things}" at least {number} times. Talk about {topic}.`
  },
  {
    labels: ["extraction"],
    patterns: `Extract all names and dates from this text: {plot}. {name} paid {number} dollars on May {number}.
Classify the sentiment of this review as positive, negative or neutral: "{plot}, and I liked the {things}."
Return the {things} and prices below as JSON. {name}: {number}, {name}: {number}, {name}: {number}
Which of these categories fits the message best: billing, shipping, returns? "My {things} never arrived."
From the table, find the row with the highest value and output it in CSV format. {name},{number} {name},{number}
Count how many companies are mentioned in the paragraph and list them.
Ziehe alle Zahlen aus dem folgenden Text: {name} hat {number} {things}.`
  },
  {
    labels: ["reading", "extraction"],
    patterns: `Summarize the following article in {number} sentences: {plot}. {plot}. {plot}. {plot}.
According to the passage, why did {name} leave? {plot}. {plot}. {plot}.
Read this text and answer the question below. {plot}. {plot}. What happened first?
What is the main idea of this paragraph? {plot}. {plot}. {plot}.
Fasse den folgenden Text zusammen: {plot}. {plot}.`
  },
  {
    labels: ["language"],
    patterns: `Correct the grammar of this sentence: {name} have {number} {things} and don't likes it.
Proofread my paragraph and fix the punctuation: {plot}
Give me a synonym for "{things}" and use it in a sentence.
Rephrase this so that it sounds more natural: {plot}.
Which word is the odd one out: {things}, {things}, {mood}, {things}?
Is "{plot}" written in the active or the passive voice?`
  },
  {
    labels: ["translation"],
    patterns: `Translate into {language}: {plot}.
How do you say "{things}" in {language}?
Please translate this sentence from English to {language} and explain the grammar: {plot}.
Übersetze ins Englische: {theme}.
Traduce al {language}: {plot}.
Traduis en anglais : {theme}.
把这句话翻译成英文：{theme}
Переведи на английский: {theme}.`
  },
  {
    labels: ["agentic"],
    patterns: `Use the search tool to find {topic}, then send me the link.
You have access to these tools: search(query), calculator(expression). Find out {topic} and call the right function.
Book a table for {number} people, then add it to my calendar and email {name}.
Open the repository, run the tests, fix what fails and commit the change.
Cancel my order #{number}{number} and exchange the {things} for a cheaper one.`
  },
  {
    labels: ["smalltalk"],
    patterns: `Hi
hello, how are you?
Good morning!
Thanks for your help!
ok
What's up?
Thank you so much, that was great
Who are you?
test
Hallo, wie geht's?
Hola, ¿qué tal?
Bonjour !
你好
Привет!
こんにちは
Tell me something nice
can you help me?`
  }
]
