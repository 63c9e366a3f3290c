import { TOOL_KINDS, TOOL_STATUSES } from '#execution/runner-protocol';
import { field, isObject, listField, textField } from './json-fields.js';
import type { CallState, ContentState } from './projection-state.js';
import { MAX_SHOWN_BYTES, summariseJson, summariseText } from './summarise.js';

const KINDS: ReadonlySet<string> = new Set(TOOL_KINDS);
const STATUSES: ReadonlySet<string> = new Set(TOOL_STATUSES);
const MAX_CONTENT_ITEMS = 50;
/** All texts of one call's content together: several files may be edited in one call. */
const MAX_CONTENT_BYTES = 4 * MAX_SHOWN_BYTES;
const MAX_PATHS = 100;

/** Applies one upsert: an absent key leaves the value, null clears it, a value of the wrong type is ignored. */
export function mergeCall(call: CallState, data: Record<string, unknown>): void {
  mergeText(call, 'tool_name', data);
  mergeText(call, 'title', data);
  const kind = field(data, 'tool_kind');
  if (typeof kind === 'string' && KINDS.has(kind)) call.tool_kind = kind as CallState['tool_kind'];
  const status = field(data, 'status');
  if (typeof status === 'string' && STATUSES.has(status)) call.status = status as CallState['status'];
  if (field(data, 'denied') === true) call.denied = true;
  mergeJson(call, 'input', data);
  mergeJson(call, 'output', data);
  if (data.content === null) delete call.content;
  else if (Array.isArray(data.content)) call.content = contentOf(data.content);
  if (data.locations === null) delete call.paths;
  else if (Array.isArray(data.locations)) call.paths = pathsOf(data.locations);
}

export function isSettled(call: CallState): boolean {
  return call.status === 'completed' || call.status === 'failed';
}

function mergeText(call: CallState, key: 'tool_name' | 'title', data: Record<string, unknown>): void {
  if (data[key] === null) delete call[key];
  const text = textField(data, key);
  if (text !== undefined) call[key] = summariseText(text, 2048).value;
}

function mergeJson(call: CallState, key: 'input' | 'output', data: Record<string, unknown>): void {
  if (!Object.hasOwn(data, key)) return;
  delete call[key];
  delete call[`${key}_truncated`];
  if (data[key] === null || data[key] === undefined) return;
  const { value, truncated } = summariseJson(data[key]);
  call[key] = value;
  if (truncated) call[`${key}_truncated`] = true;
}

function contentOf(items: unknown[]): ContentState[] {
  let left = MAX_CONTENT_BYTES;
  const shorten = (text: string): { value: string; truncated: boolean } => {
    const result = summariseText(text, Math.max(0, Math.min(left, MAX_SHOWN_BYTES)));
    left -= Buffer.byteLength(result.value);
    return result;
  };
  return items
    .slice(0, MAX_CONTENT_ITEMS)
    .filter(isObject)
    .map((item) => contentItem(item, shorten));
}

function contentItem(
  item: Record<string, unknown>,
  shorten: (text: string) => { value: string; truncated: boolean },
): ContentState {
  if (item.type === 'diff') {
    const oldText = textOrUndefined(item.old_text);
    const before = oldText === undefined ? undefined : shorten(oldText);
    const after = shorten(textOrUndefined(item.new_text) ?? '');
    return {
      type: 'diff',
      path: textField(item, 'path')?.slice(0, 4096).toWellFormed() ?? '',
      ...(before ? { old_text: before.value } : {}),
      new_text: after.value,
      ...(before?.truncated || after.truncated ? { truncated: true } : {}),
    };
  }
  if (item.type === 'resource') {
    const size = field(item, 'size_bytes');
    return {
      type: 'resource',
      uri: summariseText(textField(item, 'uri') ?? '', 2048).value,
      ...(textField(item, 'mime_type') === undefined ? {} : { mime_type: textField(item, 'mime_type') }),
      ...(typeof size === 'number' ? { size_bytes: size } : {}),
    };
  }
  const { value, truncated } = shorten(textField(item, 'text') ?? '');
  return { type: 'text', text: value, ...(truncated ? { truncated } : {}) };
}

function pathsOf(locations: unknown[]): string[] {
  const paths = locations.flatMap((location) => textField(location, 'path') ?? []);
  return [...new Set(paths.map((path) => path.slice(0, 4096).toWellFormed()))].slice(0, MAX_PATHS);
}

const textOrUndefined = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function planEntries(data: unknown): { content: string; status: string; priority?: string }[] {
  return listField(data, 'entries')
    .slice(0, 200)
    .map((entry) => {
      const priority = textField(entry, 'priority');
      return {
        content: summariseText(textField(entry, 'content') ?? '', 2048).value,
        status: textField(entry, 'status') ?? 'pending',
        ...(priority === undefined ? {} : { priority }),
      };
    });
}
