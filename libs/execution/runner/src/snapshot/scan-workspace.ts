import { closeSync, readFileSync } from 'node:fs';
import type { Ignore } from 'ignore';
import type { RunAs } from '../workspace/workspace.js';
import { homeRules, IGNORE_FILE, ignoredPaths, parseRules } from './ignore-rules.js';
import { OpenDirectory, pathOfKey, type SnapshotPlaces } from './open-directory.js';
import { type EntryStats, LOOSE_OBJECTS, type ScannedDirectory, type TreeListing } from './tree-listing.js';

/** What a scan has found. `key`: the path below the workspace, one character for each byte. */
export type ScannedEntry =
  | { readonly type: 'directory'; readonly key: string; readonly mode: number }
  | { readonly type: 'link'; readonly key: string; readonly target: string }
  | ScannedFile;

export interface ScannedFile {
  readonly type: 'file';
  readonly key: string;
  readonly mode: number;
  readonly size: number;
  readonly mtime: number;
  /** Changes with the content. */
  readonly version: string;
  /** Milliseconds since 1970 of the last change of content or permissions. */
  readonly changedAt: number;
}

export interface Scan {
  /** Each directory before what is in it. */
  readonly entries: readonly ScannedEntry[];
  /** What is left out although no rule excludes it, a sentence each. */
  readonly problems: readonly string[];
  /** Some of the paths that rules exclude. */
  readonly excluded: readonly string[];
  /** Whether files may be left out that no repository ignores. */
  readonly isPartial: boolean;
  /** Keys of the repositories. */
  readonly repositories: readonly string[];
  /** Keys of all directories that rules exclude. */
  readonly excludedDirectories: ReadonlySet<string>;
  /** Objects of git may have changed, or may change without a new time of their directory. */
  readonly hasNewObjects: boolean;
}

export class TooManyEntriesError extends Error {}

export interface ScanOptions {
  readonly places: SnapshotPlaces;
  /** What is in the places, when it is known. Default: each directory is read. */
  readonly listing?: TreeListing | null;
  /** What repositories ignore, where it is known or being read, by their keys; null: git cannot say. */
  readonly ignored?: ReadonlyMap<string, Promise<ReadonlySet<string> | null>>;
  readonly runAs?: RunAs | undefined;
  readonly maxEntries: number;
  /** Kept from one scan of the workspace to the next. */
  readonly objects?: ObjectDirectories;
}

/**
 * Directories of loose objects of git, by key. Git never changes an object except its time, so the files of a directory that has
 * not changed are those of the last scan: half of the files of many workspaces.
 */
export type ObjectDirectories = Map<string, { readonly version: string; readonly files: readonly ScannedFile[] }>;

/** Rules and the directory for which they are; `ignored`: the paths that the repository ignores. */
interface Scope {
  readonly prefix: string;
  readonly rules?: Ignore;
  readonly ignored?: ReadonlySet<string>;
}

const PERMISSIONS = 0o777;
const MAX_RULES_BYTES = 65_536;
/** Files by which git protects a change in progress. They would stop git after the restore. */
const GIT_TRANSIENT = /(\.lock|^gc\.pid|^fsmonitor--daemon.*|^tmp_(obj|pack|idx|rev)_.*)$/;
/** Git makes objects that nobody may write. */
const OBJECT_MODE = 0o444;
/** What has changed within this time may be incomplete: a program copies files, or the kernel has not set a new time yet. */
const SETTLED_MS = 5_000;
const MAX_PROBLEMS = 20;
const MAX_EXCLUDED = 20;

/** Lists the entries that a snapshot contains. Rejects with TooManyEntriesError. */
export async function scanWorkspace(options: ScanOptions): Promise<Scan> {
  const scanner = new Scanner(options);
  const root = options.listing?.open() ?? OpenDirectory.ofPlaces(options.places);
  try {
    for (const place of Object.keys(options.places).sort()) {
      if (root.stats(place)?.isDirectory() !== true) throw new Error(`The directory ${place} does not exist.`);
      await scanner.directory(root, place, place, place === 'home' ? [{ prefix: 'home/', rules: homeRules() }] : []);
    }
  } finally {
    root.close();
  }
  return scanner;
}

class Scanner implements Scan {
  readonly entries: ScannedEntry[] = [];
  readonly problems: string[] = [];
  readonly excluded: string[] = [];
  readonly repositories: string[] = [];
  readonly excludedDirectories = new Set<string>();
  hasNewObjects = false;
  private hasRules = false;
  /** Files of other users are not read: the runner may be root, and a link to a file of another user looks like one. */
  private readonly owner: number | undefined;
  private readonly startedAt = Date.now();

  constructor(private readonly options: ScanOptions) {
    this.owner = process.getuid?.() === 0 ? options.runAs?.uid : undefined;
  }

  get isPartial(): boolean {
    return this.hasRules || this.problems.length > 0;
  }

  async directory(parent: ScannedDirectory, name: string, key: string, scopes: readonly Scope[]): Promise<void> {
    const stats = parent.stats(name);
    if (!stats?.isDirectory()) return;
    const unchanged = this.unchangedObjects(key, stats);
    if (unchanged) {
      this.add({ type: 'directory', key, mode: stats.mode & PERMISSIONS });
      for (const file of unchanged) this.add(file);
      return;
    }
    let directory: ScannedDirectory;
    let entries: ReturnType<ScannedDirectory['entries']>;
    try {
      directory = parent.directory(name);
    } catch (error) {
      return this.skip(key, error);
    }
    try {
      entries = directory.entries();
      this.add({ type: 'directory', key, mode: stats.mode & PERMISSIONS });
      const first = this.entries.length;
      const isGit = name === '.git' || /\/\.git\//.test(`/${key}/`);
      const own = isGit ? [] : await this.scopesOf(directory, entries, key, scopes);
      for (const entry of entries) {
        const path = `${key}/${entry.name}`;
        const isDirectory = entry.isDirectory();
        if (isGit && GIT_TRANSIENT.test(entry.name)) continue;
        if (!isGit && isIgnored(path, isDirectory, own)) {
          this.exclude(path, isDirectory);
          continue;
        }
        if (isDirectory) await this.directory(directory, entry.name, path, own);
        else this.other(directory, entry.name, path);
      }
      if (LOOSE_OBJECTS.test(key)) {
        this.hasNewObjects = true;
        this.rememberObjects(key, stats, entries.length, this.entries.slice(first));
      }
    } catch (error) {
      if (error instanceof TooManyEntriesError) throw error;
      this.skip(key, error);
    } finally {
      directory.close();
    }
  }

  private unchangedObjects(key: string, stats: EntryStats): readonly ScannedFile[] | null {
    const known = this.options.objects?.get(key);
    return known?.version === versionOf(stats) ? known.files : null;
  }

  /** Nothing is remembered of a directory that contains something else, something that was left out, or may be changing. */
  private rememberObjects(key: string, stats: EntryStats, count: number, entries: readonly ScannedEntry[]): void {
    const isSettled = (changedAt: number): boolean => changedAt < this.startedAt - SETTLED_MS;
    const files = entries.filter(
      (entry): entry is ScannedFile =>
        entry.type === 'file' && entry.mode === OBJECT_MODE && isSettled(entry.changedAt),
    );
    if (files.length === count && entries.length === count && isSettled(stats.ctimeMs))
      this.options.objects?.set(key, { version: versionOf(stats), files });
  }

  private other(directory: ScannedDirectory, name: string, key: string): void {
    const stats = directory.stats(name);
    if (stats?.isSymbolicLink()) {
      try {
        this.add({ type: 'link', key, target: directory.link(name) });
      } catch (error) {
        this.skip(key, error);
      }
      return;
    }
    // Sockets, pipes and devices have no content.
    if (!stats?.isFile()) return;
    if (this.owner !== undefined && stats.uid !== this.owner)
      return this.skip(key, new Error('it belongs to another user'));
    const { size, mtimeMs, ctimeMs } = stats;
    this.add({
      type: 'file',
      key,
      mode: stats.mode & PERMISSIONS,
      size,
      mtime: Math.round(mtimeMs),
      version: versionOf(stats),
      changedAt: ctimeMs,
    });
  }

  private async scopesOf(
    directory: ScannedDirectory,
    entries: ReturnType<ScannedDirectory['entries']>,
    key: string,
    scopes: readonly Scope[],
  ): Promise<readonly Scope[]> {
    const prefix = `${key}/`;
    const names = new Set(entries.map(({ name }) => name));
    const rules = names.has(IGNORE_FILE) ? readRules(directory) : undefined;
    if (rules !== undefined) this.hasRules = true;
    const ignored = names.has('.git') ? await this.ignoredOf(key) : undefined;
    const repository = ignored === undefined ? [] : [{ prefix, ignored }];
    return rules === undefined && ignored === undefined
      ? scopes
      : [...(rules === undefined ? [] : [{ prefix, rules }]), ...repository, ...scopes];
  }

  private async ignoredOf(key: string): Promise<ReadonlySet<string>> {
    this.repositories.push(key);
    const known = await this.options.ignored?.get(key);
    if (known) return known;
    return ignoredPaths(pathOfKey(this.options.places, key), this.options.runAs, (message) =>
      this.report(`${message} (${displayed(key)})`),
    );
  }

  private add(entry: ScannedEntry): void {
    if (this.entries.length >= this.options.maxEntries)
      throw new TooManyEntriesError(`The workspace has more than ${this.options.maxEntries} files and directories.`);
    this.entries.push(entry);
  }

  /** What tools can fetch again into the home directory is not worth a message. */
  private exclude(key: string, isDirectory: boolean): void {
    if (isDirectory) this.excludedDirectories.add(key);
    if (this.excluded.length < MAX_EXCLUDED && !key.startsWith('home/'))
      this.excluded.push(`${Buffer.from(key, 'latin1').toString('utf8')}${isDirectory ? '/' : ''}`);
  }

  private skip(key: string, error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') this.report(`${displayed(key)} is not in the snapshot: ${code ?? message}.`);
  }

  private report(problem: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }
}

const versionOf = ({ ino, size, mtimeMs, ctimeMs }: EntryStats): string => `${ino}:${size}:${mtimeMs}:${ctimeMs}`;

/** The nearest rule decides. */
function isIgnored(path: string, isDirectory: boolean, scopes: readonly Scope[]): boolean {
  for (const { prefix, rules, ignored } of scopes) {
    const relative = `${path.slice(prefix.length)}${isDirectory ? '/' : ''}`;
    if (ignored?.has(relative)) return true;
    const result = rules?.test(Buffer.from(relative, 'latin1').toString('utf8'));
    if (result?.unignored) return false;
    if (result?.ignored) return true;
  }
  return false;
}

function readRules(directory: ScannedDirectory): Ignore | undefined {
  const file = directory.file(IGNORE_FILE);
  if (file === null) return undefined;
  try {
    return file.stats.size > MAX_RULES_BYTES ? undefined : parseRules(readFileSync(file.fd, 'utf8'));
  } finally {
    closeSync(file.fd);
  }
}

/** For people. */
export const displayed = (key: string): string => JSON.stringify(Buffer.from(key, 'latin1').toString('utf8'));
