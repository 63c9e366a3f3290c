import { parseUrl } from '#platform/kernel';
/** What work is about, wherever it is tracked: `<source>:<id>`, such as `linear:ENG-42`. */
export interface Ticket {
  readonly source: string;
  readonly id: string;
}

/** Source of references that are made where there is no ticket. */
export const ADHOC = 'adhoc';

const TICKET_REF = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}:[^\s\p{C}]+$/u;
export const MAX_TICKET_REF_BYTES = 256;
export const MAX_TICKET_URL = 2048;

/** Null when it is none; an id may contain colons. */
export function parseTicketRef(ref: string): Ticket | null {
  if (!TICKET_REF.test(ref) || Buffer.byteLength(ref) > MAX_TICKET_REF_BYTES) return null;
  const colon = ref.indexOf(':');
  return { source: ref.slice(0, colon), id: ref.slice(colon + 1) };
}

export const ticketRef = ({ source, id }: Ticket): string => `${source}:${id}`;

/** Why people cannot be sent to this address; null when they can. Completes "`ticket_url` …". */
export function ticketUrlFault(text: string): string | null {
  // What a URL is read from may hold blanks and line breaks; what people are shown may not.
  const url = /[\s\p{C}]/u.test(text) ? null : parseUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'must be an absolute http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return null;
}
