/** Bundles programs, by name, into a directory of the checkout. */
export function bundle(programs: Readonly<Record<string, string>>, directory: string): Promise<void>;
