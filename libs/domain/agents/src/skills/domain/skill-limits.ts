/** A SKILL.md over this size is malformed, and never read. */
export const MAX_SKILL_BYTES = 262_144;
/** Its front matter, in UTF-16 units: what is written to be slow to parse takes some milliseconds then. */
export const MAX_FRONT_MATTER = 8_192;
/** SKILL.md files of one repository; further ones are left out. */
export const MAX_SKILL_FILES = 5_000;
/** Of all SKILL.md files of one repository; those beyond count as malformed. */
export const MAX_REPOSITORY_BYTES = 32 * 1_048_576;
export const MAX_NAME_LENGTH = 128;
/** Of a description that is the body's first paragraph. */
export const MAX_FALLBACK_DESCRIPTION = 512;
/** Of a description from front matter; a longer one is cut. */
export const MAX_DESCRIPTION = 2_048;
