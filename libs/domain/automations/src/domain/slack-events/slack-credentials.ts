/** Deeper parts of a payload become null. Slack sends no such payload. */
const MAX_DEPTH = 64;
/** Who has one can write in the channel, open a dialog, or act as the app. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'response_url',
  'response_urls',
  'bot_access_token',
  'interactivity_pointer',
]);
/** At the top of a payload: the verification token, which receivers of the same app may still compare, and the permission to open a dialog. */
const TOP_CREDENTIALS: ReadonlySet<string> = new Set(['token', 'trigger_id']);
/** The `action_id` of the buttons in messages of runs, whose values are signed decisions. */
const OWN_BUTTON = /^headrace_/;

/** Completes “what was sent, without”. */
export const REMOVED_CREDENTIALS = 'the credentials of Slack and the values of the buttons of this service';

/** A copy without what neither an agent nor a prompt may get: the fields above. Undefined: it has none of them. */
export function withoutCredentials(payload: unknown): unknown {
  let hasChanged = false;
  const copyOf = (node: unknown, depth: number, name = ''): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    if (depth >= MAX_DEPTH) {
      hasChanged = true;
      return null;
    }
    if (Array.isArray(node)) return node.map((item) => copyOf(item, depth + 1));
    const { action_id: id } = node as { readonly action_id?: unknown };
    const isOwnButton = typeof id === 'string' && OWN_BUTTON.test(id);
    const entries = Object.entries(node);
    const isCredential = (key: string): boolean =>
      CREDENTIALS.has(key) ||
      (depth === 0 && TOP_CREDENTIALS.has(key)) ||
      (key === 'value' && isOwnButton) ||
      // Of a person in a workflow, with which the app acts for them.
      (key === 'secret' && name === 'interactor');
    const kept = entries.filter(([key]) => !isCredential(key));
    if (kept.length < entries.length) hasChanged = true;
    return Object.fromEntries(kept.map(([key, item]) => [key, copyOf(item, depth + 1, key)]));
  };
  const copy = copyOf(payload, 0);
  return hasChanged ? copy : undefined;
}
