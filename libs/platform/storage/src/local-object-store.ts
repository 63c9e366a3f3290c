import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { makeDirectory } from '#platform/kernel';
import { chunksOf, mediaType } from './content.js';
import {
  objectKeySegments,
  ObjectStore,
  ObjectStoreUnavailableError,
  ObjectTooLargeError,
  type PutOptions,
  type SignedUrlOptions,
  type StoredObject,
} from './object-store.js';
import { SignedLinks } from './signed-links.js';

/** No key contains `@`: a key may also be the prefix of others, and an incomplete file is never an object. */
const FILE_SUFFIX = '@';
const INCOMING = '@incoming';
const MAX_HEADER_BYTES = 1024;
const ABANDONED_AFTER_MS = 24 * 3_600_000;
/** What an operator corrects, such as a full disk or one that is not mounted; the same request then succeeds. */
const UNWRITABLE_CODES: readonly unknown[] = [
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE'],
  ...['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'],
];

/** First and last byte, both included. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A part of an object; `range` is what the caller got. */
type ObjectPart = StoredObject & { readonly range: ByteRange | null };

/**
 * Objects as files. A file is one line of JSON with the media type and then the content: a single file, because a
 * single rename replaces both. Directories are 0700 and files 0600: agents run on the same machine.
 */
@Injectable()
export class LocalObjectStore extends ObjectStore {
  private readonly directory: string;
  private readonly incoming: string;

  constructor(
    private readonly settings: Settings,
    private readonly links: SignedLinks,
  ) {
    super();
    this.directory = join(settings.dataDir, 'objects');
    this.incoming = join(this.directory, INCOMING);
  }

  override async put(
    key: string,
    content: Readable | Buffer,
    { contentType, maxBytes }: PutOptions,
  ): Promise<{ sizeBytes: number }> {
    const target = this.fileOf(key);
    const header = Buffer.from(`${JSON.stringify({ content_type: mediaType(contentType) })}\n`);
    const temporary = join(this.incoming, randomUUID());
    try {
      const file = await this.openNew(temporary);
      let sizeBytes = 0;
      try {
        await file.writeFile(header);
        for await (const chunk of chunksOf(content)) {
          sizeBytes += chunk.length;
          if (maxBytes !== undefined && sizeBytes > maxBytes) throw new ObjectTooLargeError(key, maxBytes);
          await file.writeFile(chunk);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      await publish(temporary, target);
      return { sizeBytes };
    } catch (error) {
      // On a read-only file system this fails as well, also for a file that does not exist.
      await rm(temporary, { force: true }).catch((failure: unknown) => {
        if (!isUnwritable(failure)) throw failure;
      });
      throw isUnwritable(error) ? new ObjectStoreUnavailableError(error) : error;
    }
  }

  /** Looks only at the file system: a quota shows itself when something is written. */
  override async assertWritable(): Promise<void> {
    const { directory } = this;
    await makeDirectory(directory);
    await access(directory, constants.W_OK);
    const { bavail, files, ffree } = await statfs(directory);
    // File systems without a fixed number of files report 0 of 0.
    if (bavail === 0 || (files > 0 && ffree === 0)) throw new Error(`No space is left in ${directory}.`);
  }

  override async get(key: string): Promise<StoredObject | null> {
    const part = await this.getPart(key, undefined);
    return part === null || 'unsatisfiable' in part ? null : part;
  }

  /** The object, or the part of it that a `Range` header asks for; `unsatisfiable` carries the size for `Content-Range`. */
  async getPart(
    key: string,
    rangeHeader: string | undefined,
  ): Promise<ObjectPart | { unsatisfiable: true; sizeBytes: number } | null> {
    const file = await openIfThere(this.fileOf(key));
    if (!file) return null;
    try {
      const { contentType, offset } = await readHeader(file);
      const sizeBytes = (await file.stat()).size - offset;
      const range = resolveByteRange(rangeHeader, sizeBytes);
      if (range === 'unsatisfiable') {
        await file.close();
        return { unsatisfiable: true, sizeBytes };
      }
      // The stream owns the handle from here and closes it at its end or when it is destroyed.
      const stream = file.createReadStream({
        start: offset + (range?.start ?? 0),
        ...(range ? { end: offset + range.end } : {}),
      });
      return { stream, sizeBytes, contentType, range };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  override async delete(key: string): Promise<void> {
    await rm(this.fileOf(key), { force: true });
  }

  override async deletePrefix(prefix: string): Promise<void> {
    await rm(join(this.directory, ...objectKeySegments(prefix)), { recursive: true, force: true });
  }

  override async *list(): AsyncGenerator<string> {
    for (const directories = ['']; directories.length > 0;) {
      const parent = directories.pop() ?? '';
      // A directory may be removed meanwhile.
      const entries = await readdir(join(this.directory, parent), { withFileTypes: true }).catch(emptyWhenMissing);
      for (const entry of entries) {
        const path = parent === '' ? entry.name : `${parent}/${entry.name}`;
        if (entry.isDirectory() && path !== INCOMING) directories.push(path);
        else if (entry.isFile() && path.endsWith(FILE_SUFFIX)) yield path.slice(0, -FILE_SUFFIX.length);
      }
    }
  }

  override signedUrl(key: string, { ttlMs, fileName, contentType }: SignedUrlOptions): Promise<string> {
    const path = objectKeySegments(key).join('/');
    const said = {
      key,
      ...(fileName === undefined ? {} : { fileName: fileName.toWellFormed() }),
      ...(contentType === undefined ? {} : { contentType: mediaType(contentType) }),
    };
    return Promise.resolve(`${this.settings.publicUrl}/objects/${path}?${this.links.query(said, ttlMs).toString()}`);
  }

  /** Removes what a killed process left half-written. Young files stay: another process may be writing them. */
  async removeAbandoned(olderThanMs: number = ABANDONED_AFTER_MS): Promise<number> {
    const names = await readdir(this.incoming).catch(emptyWhenMissing);
    let removed = 0;
    for (const name of names) {
      const path = join(this.incoming, name);
      const found = await stat(path).catch(() => null);
      // The file system's own time on both sides: an offset of the service's clock says nothing about files.
      if (!found || Date.now() - found.mtimeMs < olderThanMs) continue;
      await rm(path, { force: true });
      removed += 1;
    }
    return removed;
  }

  /** The directory is there after the first file, so it is only made when that turns out not to be so. */
  private async openNew(path: string): Promise<FileHandle> {
    try {
      return await open(path, 'wx', 0o600);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      await makeDirectory(this.incoming);
      return open(path, 'wx', 0o600);
    }
  }

  private fileOf(key: string): string {
    return `${join(this.directory, ...objectKeySegments(key))}${FILE_SUFFIX}`;
  }
}

/** Null: no range, or one that a server may ignore (several, another unit, nonsense). RFC 9110, section 14. */
function resolveByteRange(header: string | undefined, sizeBytes: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  if (!match) return null;
  const [first, last] = [match[1] ?? '', match[2] ?? ''];
  if (first === '') {
    if (last === '') return null;
    const suffix = Math.min(Number(last), sizeBytes);
    return suffix === 0 ? 'unsatisfiable' : { start: sizeBytes - suffix, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

/** Renames into place and makes the name durable too. Tries again when `deletePrefix` takes the directory away meanwhile. */
async function publish(temporary: string, target: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await makeDirectory(dirname(target));
      await rename(temporary, target);
      break;
    } catch (error) {
      if (attempt === 5 || codeOf(error) !== 'ENOENT') throw error;
    }
  }
  const directory = await openIfThere(dirname(target));
  try {
    await directory?.sync();
  } finally {
    await directory?.close();
  }
}

async function readHeader(file: FileHandle): Promise<{ contentType: string; offset: number }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
  const newline = buffer.subarray(0, bytesRead).indexOf(0x0a);
  if (newline < 0) throw new Error('A stored object has no header: the file is damaged.');
  const header = JSON.parse(buffer.toString('utf8', 0, newline)) as { content_type: string };
  return { contentType: header.content_type, offset: newline + 1 };
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

const isUnwritable = (error: unknown): boolean => UNWRITABLE_CODES.includes(codeOf(error));

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

function emptyWhenMissing(error: unknown): never[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}
