/**
 * How Node.js is started for a server. A list of runs makes garbage of some 400 KB; with a larger young generation fewer of
 * them meet a collection, and those are the slowest one in a hundred.
 */
export const SERVER_FLAGS = ['--enable-source-maps', '--max-semi-space-size=64'];
