/** Deeper parts of a payload become null. Slack sends no such payload. */
const MAX_DEPTH = 64;
/** Who has one can write in the channel, or act as the app. */
const CREDENTIALS: ReadonlySet<string> = new Set(['response_url', 'response_urls', 'bot_access_token']);
/** The `action_id` of the buttons in messages of runs, whose values are signed decisions. */
const OWN_BUTTON = /^headrace_/;

/** Completes “what was sent, without”. */
export const REMOVED_CREDENTIALS = 'the credentials of Slack and the values of the buttons of this service';

/** A copy without what neither an agent nor a prompt may get: `token`, which apps verify requests with, and the fields above. */
export const withoutCredentials = (payload: unknown): unknown => copyOf(payload, 0);

function copyOf(node: unknown, depth: number): unknown {
  if (typeof node !== 'object' || node === null) return node;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(node)) return node.map((item) => copyOf(item, depth + 1));
  const { action_id: id } = node as { readonly action_id?: unknown };
  const isOwnButton = typeof id === 'string' && OWN_BUTTON.test(id);
  const isCredential = (key: string): boolean =>
    CREDENTIALS.has(key) || (key === 'token' && depth === 0) || (key === 'value' && isOwnButton);
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, item]) => (isCredential(key) ? [] : [[key, copyOf(item, depth + 1)]])),
  );
}
