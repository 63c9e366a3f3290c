import { findProgram } from '#platform/kernel';

/** The command line's own entry, for children that are started from it. */
export const OWN_ENTRY = findProgram();

/** What this Node is started with to be the built-in agent. */
export const BUILTIN_AGENT_ARGS = [OWN_ENTRY, 'builtin-agent'];
