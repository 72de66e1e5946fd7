/** The environment variables that a gateway under test is started with. */
export type Environment = { readonly [variable: string]: string }
