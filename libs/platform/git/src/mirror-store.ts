import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { link, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitFailure } from './git-failure.js';
import { runGit } from './git-process.js';
import { BROKEN_MARK, type GitRepository } from './mirror.js';

const SALT_FILE = 'salt';
const SUFFIX = '.git';
/** Behind the name of a mirror: its bytes, as they were noted last. Not in it, where a change would count as use. */
const SIZE_SUFFIX = '.bytes';
const LEFT_MS = 3_600_000;
/** What a git process that was killed leaves behind; while it is there, no other can write. */
const LEFTOVERS = /\.lock$|^tmp_|^incoming-|^tmp_objdir-/;

interface StoredMirror {
  readonly place: string;
  readonly bytes: number;
  /** When it was asked for or read last, in milliseconds of the epoch. */
  readonly usedAt: number;
}

/** The directory of all mirrors: which is whose, making one, putting one in order, throwing one away. */
export class MirrorStore {
  private salt: Promise<Buffer> | null = null;

  constructor(readonly directory: string) {}

  /** Each credential has a separate mirror: what one may read is never shown to another. The name does not reveal it. */
  async placeOf({ url, credential }: GitRepository): Promise<string> {
    this.salt ??= this.readSalt().catch((error: unknown) => {
      // A disk that is full now may have free space later.
      this.salt = null;
      throw error;
    });
    const hash = createHash('sha256').update(await this.salt);
    for (const part of [url, credential?.username ?? '', ...secretPartsOf(credential)]) {
      hash.update(`${Buffer.byteLength(part)}:`).update(part);
    }
    return join(this.directory, `${hash.digest('hex').slice(0, 40)}${SUFFIX}`);
  }

  /** Makes an empty mirror where there is none, or a broken one, and clears away what a killed process has left. */
  async prepare(place: string, signal: AbortSignal): Promise<'made' | 'there'> {
    const [head, broken] = await Promise.all([exists(join(place, 'HEAD')), this.isBroken(place)]);
    if (head && !broken) {
      await clearLeftovers(place);
      return 'there';
    }
    await this.discard(place);
    const draft = join(this.directory, `${randomUUID()}.draft`);
    await runGit({ args: ['init', '--quiet', '--bare', '--template=', '--', draft], cwd: '/', signal });
    await rename(draft, place);
    return 'made';
  }

  isBroken(place: string): Promise<boolean> {
    return exists(join(place, BROKEN_MARK));
  }

  async discard(place: string): Promise<void> {
    await this.clear(await this.setAside(place));
  }

  /** Renames it before it is deleted, so that no reader finds an incomplete copy. Null: it does not exist. */
  async setAside(place: string): Promise<string | null> {
    const aside = join(this.directory, `${randomUUID()}.draft`);
    await rm(`${place}${SIZE_SUFFIX}`, { force: true });
    try {
      await rename(place, aside);
      return aside;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async clear(aside: string | null): Promise<void> {
    if (aside !== null) await rm(aside, { recursive: true, force: true });
  }

  /** What processes that have gone did not finish making, or removing. */
  async removeLeftovers(): Promise<void> {
    for (const place of await this.entries('.draft')) {
      const stats = await stat(place).catch(() => null);
      if (stats !== null && Date.now() - stats.mtimeMs > LEFT_MS) await this.clear(place);
    }
  }

  async list(): Promise<StoredMirror[]> {
    const mirrors: StoredMirror[] = [];
    for (const place of await this.entries(SUFFIX)) {
      const usedAt = await this.usedAt(place);
      if (usedAt !== Infinity) mirrors.push({ place, usedAt, bytes: await this.bytesOf(place) });
    }
    return mirrors;
  }

  /** Infinity: it is not there. */
  async usedAt(place: string): Promise<number> {
    return (await stat(place).catch(() => null))?.mtimeMs ?? Infinity;
  }

  /** For `list`, after a mirror has changed. */
  async noteSize(place: string): Promise<number> {
    const bytes = await directoryBytes(place);
    await writeFile(`${place}${SIZE_SUFFIX}`, String(bytes), { mode: 0o600 });
    return bytes;
  }

  /** Measured only where nobody has noted it. */
  private async bytesOf(place: string): Promise<number> {
    const noted = await readFile(`${place}${SIZE_SUFFIX}`, 'latin1').catch(() => '');
    return /^\d+$/.test(noted) ? Number(noted) : this.noteSize(place);
  }

  private async entries(suffix: string): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    return names.filter((name) => name.endsWith(suffix)).map((name) => join(this.directory, name));
  }

  private async readSalt(): Promise<Buffer> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    const path = join(this.directory, SALT_FILE);
    const draft = `${path}.${randomUUID()}`;
    if (!(await exists(path))) {
      // A link appears when it is whole; of two that are made at once the first stays, and both read that.
      await writeFile(draft, randomBytes(32), { mode: 0o600, flag: 'wx' });
      await link(draft, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await rm(draft, { force: true });
    }
    return readFile(path);
  }
}

async function clearLeftovers(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    const path = join(directory, entry.name);
    if (LEFTOVERS.test(entry.name)) await rm(path, { recursive: true, force: true });
    else if (entry.isDirectory()) await clearLeftovers(path);
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const LOOK_MS = 250;

/** Bytes of the files below a directory; what vanishes meanwhile counts nothing. */
export async function directoryBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  let total = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) total += await directoryBytes(path);
    else total += (await lstat(path).catch(() => null))?.size ?? 0;
  }
  return total;
}

/** Does the work and aborts it when the directory exceeds the limit; then it rejects with `too_large`. */
export async function withinSize<T>(
  directory: string,
  maxBytes: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const tooLarge = new AbortController();
  const failure = new GitFailure(
    'too_large',
    `The repository takes more than ${maxBytes} bytes (GIT_MAX_REPOSITORY_BYTES).`,
  );
  let measuring = false;
  const measure = async (): Promise<void> => {
    if ((await directoryBytes(directory)) > maxBytes) tooLarge.abort();
  };
  const timer = setInterval(() => {
    if (measuring) return;
    measuring = true;
    void measure().finally(() => {
      measuring = false;
    });
  }, LOOK_MS);
  try {
    const result = await work(tooLarge.signal);
    await measure();
    if (tooLarge.signal.aborted) throw failure;
    return result;
  } catch (error) {
    throw tooLarge.signal.aborted ? failure : error;
  } finally {
    clearInterval(timer);
  }
}

/** Of different number, so that no password equals an identity. */
const secretPartsOf = (credential: GitRepository['credential']): string[] =>
  credential?.identity === undefined ? [credential?.password ?? ''] : ['', credential.identity];
