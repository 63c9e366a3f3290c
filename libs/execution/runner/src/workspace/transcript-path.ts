import { lstat, opendir, realpath } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';

export interface TranscriptPlace {
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: string;
}

const HOME = '{home}/';
/** Limit of a search, because an agent can create any number of files. */
const MAX_ENTRIES = 20_000;
const DAY_MS = 86_400_000;

/** Value of a placeholder when a transcript is restored, and its pattern when one is searched. */
interface Placeholder {
  readonly fill: (place: TranscriptPlace, now: Date) => string;
  /** Source of a regular expression; absent: exactly what it is filled with. */
  readonly pattern?: string;
}

const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  session_id: { fill: ({ sessionId }) => sessionId },
  session_id_8: { fill: ({ sessionId }) => sessionId.slice(0, 8) },
  // Agents shorten long names and resolve symbolic links first.
  cwd_slug: { fill: ({ cwd }) => cwd.replace(/[^A-Za-z0-9]/g, '-'), pattern: '[A-Za-z0-9-]+' },
  // Gemini's name of a project.
  cwd_name: {
    fill: ({ cwd }) =>
      basename(cwd)
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-'),
    pattern: '[a-z0-9-]+',
  },
  // Gemini corrupts a session that is loaded in the same minute as in its file name.
  day_before: { fill: (_place, now) => minute(now.getTime() - DAY_MS), pattern: '[0-9T-]+' },
  year: { fill: (_place, now) => now.toISOString().slice(0, 4), pattern: '\\d{4}' },
  month: { fill: (_place, now) => now.toISOString().slice(5, 7), pattern: '\\d{2}' },
  day: { fill: (_place, now) => now.toISOString().slice(8, 10), pattern: '\\d{2}' },
  timestamp: { fill: (_place, now) => now.toISOString().slice(0, 19).replaceAll(':', '-'), pattern: '[0-9T-]+' },
};

const minute = (time: number): string => new Date(time).toISOString().slice(0, 16).replaceAll(':', '-');

/** Null when only the agent knows it, or when the session id, which is untrusted, cannot be part of a file name. */
export function transcriptPath(template: string, place: TranscriptPlace, now: Date): string | null {
  const segments = segmentsOf(template, place.sessionId);
  if (segments === null || segments.some((segment) => segment.includes('*'))) return null;
  return join(place.home, ...segments.map((segment) => filled(segment, place, now)));
}

/** The newest file that matches the template and the session, or null. The agent controls the file. */
export async function findTranscript(template: string, place: TranscriptPlace): Promise<string | null> {
  const segments = segmentsOf(template, place.sessionId);
  if (segments === null) return null;
  const budget = { left: MAX_ENTRIES };
  let paths = [place.home];
  for (const segment of segments) {
    const pattern = patternOf(segment, place);
    const next: string[] = [];
    for (const path of paths) {
      if (typeof pattern === 'string') next.push(join(path, pattern));
      else next.push(...(await entriesOf(path, pattern, place.home, budget)));
    }
    paths = next;
  }
  return newestOf(paths);
}

/** The template's segments below the home directory; null when it leads elsewhere. */
function segmentsOf(template: string, sessionId: string): string[] | null {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$/.test(sessionId) || !template.startsWith(HOME)) return null;
  const segments = template.slice(HOME.length).split('/');
  return segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..') ? segments : null;
}

const filled = (segment: string, place: TranscriptPlace, now: Date): string =>
  segment.replace(/\{(\w+)\}/g, (whole, name: string) => PLACEHOLDERS[name]?.fill(place, now) ?? whole);

/** The name where it is known, else a pattern. */
function patternOf(segment: string, place: TranscriptPlace): string | RegExp {
  let isOpen = false;
  const source = segment
    .split(/(\{\w+\}|\*)/)
    .map((part) => {
      const placeholder = PLACEHOLDERS[part.slice(1, -1)];
      const open = part === '*' ? '.*' : placeholder?.pattern;
      isOpen ||= open !== undefined;
      return open ?? escaped(placeholder?.fill(place, new Date(0)) ?? part);
    })
    .join('');
  return isOpen ? new RegExp(`^${source}$`) : filled(segment, place, new Date(0));
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

async function entriesOf(
  directory: string,
  pattern: RegExp,
  home: string,
  budget: { left: number },
): Promise<string[]> {
  const found: string[] = [];
  try {
    // A directory of the agent may be a link to one of another user.
    if (!`${await realpath(directory)}${sep}`.startsWith(`${await realpath(home)}${sep}`)) return [];
    for await (const { name } of await opendir(directory)) {
      budget.left -= 1;
      if (budget.left < 0) break;
      if (pattern.test(name)) found.push(join(directory, name));
    }
  } catch {
    return found; // missing, or not a directory
  }
  return found;
}

async function newestOf(paths: readonly string[]): Promise<string | null> {
  let newest: { path: string; mtimeMs: number } | null = null;
  for (const path of paths) {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() && (newest === null || stats.mtimeMs > newest.mtimeMs))
      newest = { path, mtimeMs: stats.mtimeMs };
  }
  return newest?.path ?? null;
}
