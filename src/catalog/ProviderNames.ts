/**
 * Providers by the names that clients give them: the ids of the catalog, and OpenRouter's spellings of the same. A name
 * that could mean two providers means none.
 */
import type { ProviderId } from "../domain/Ids.ts"

/** The provider that a name stands for; `undefined` if it stands for none or for several. */
export type ResolveProvider = (name: string) => ProviderId | undefined

/** OpenRouter's names of providers of the catalog where they are not the ids, in the letters of `lettersOf`. */
export const otherProviderNames: { readonly [letters: string]: string } = {
  amazonbedrock: "bedrock",
  googleaistudio: "google",
  moonshot: "moonshotai",
  mistralai: "mistral",
  togetherai: "together",
  fireworksai: "fireworks",
  azureopenai: "azure"
}

/** Prepares the resolution for the providers of a catalog. */
export const providerNames = (ids: Iterable<ProviderId>): ResolveProvider => {
  const byId = new Map<string, ProviderId>()
  const byLetters = new Map<string, ProviderId | "several">()
  for (const id of ids) {
    byId.set(id, id)
    const letters = lettersOf(id)
    byLetters.set(letters, byLetters.has(letters) ? "several" : id)
  }
  return (name) => {
    const exact = byId.get(name)
    // A slash names one variant of a provider, such as `together/fp8`, of which the catalog knows nothing.
    if (exact !== undefined || name.includes("/")) return exact
    const letters = lettersOf(name)
    const found = byLetters.get(letters) ?? byId.get(otherProviderNames[letters] ?? "")
    return found === "several" ? undefined : found
  }
}

/** Services differ in case, and write `z-ai`, `Z.AI` and `zai`. */
const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
