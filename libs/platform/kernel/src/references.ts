/**
 * Completes "`field` …" for a reference that cannot be followed. One text for what does not exist and for what the caller
 * may not use, so that it does not tell which; `noun` comes with its article.
 */
export const notAccessible = (noun: string): string => `names ${noun} that was not found or is not accessible`;
