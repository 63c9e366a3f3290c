/** Where the console is served, such as `/console/` or `/prefix/console/`: the script is in its directory `assets`. */
export const BASE = import.meta.env.DEV ? '/' : new URL(/* @vite-ignore */ '../', import.meta.url).pathname;

/** `https://host/prefix`, without a slash at the end. */
export const ORIGIN = new URL('..', new URL(BASE, location.origin)).href.replace(/\/$/, '');
export const API_URL = `${ORIGIN}/api/v1`;
