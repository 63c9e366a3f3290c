import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { findShipped } from '#platform/kernel';
import { ProblemError } from '../problems/problem-error.js';
import { pathOf } from './request-state.js';

const compress = promisify(gzip);

/** Only own files and the own API, nothing inline, and no frame: texts of agents cannot execute even if they were markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const IMMUTABLE = 'public, max-age=31536000, immutable';

interface StaticFile {
  readonly bytes: Buffer;
  /** Made when it is asked for first. */
  compressed?: Promise<Buffer>;
}

/** A web application whose build has an `index.html` with relative URLs and a directory `assets` with hashed names. */
export class StaticApp {
  private files: ReadonlyMap<string, StaticFile> | null = null;

  /** `mount`: where it is served, such as `/console`. `directory`: relative to the root of the project. */
  constructor(
    private readonly mount: string,
    private readonly directory: string,
  ) {}

  /** Every path that is no asset is a page of the application, which selects the view by it. */
  async send(request: Request, response: Response): Promise<void> {
    const path = pathOf(request);
    const below = path.slice(this.mount.length).replace(/^\//, '');
    if (below.startsWith('assets/')) return this.sendFile(below, IMMUTABLE, request, response);
    const page = this.find('index.html')
      .bytes.toString('utf8')
      .replaceAll('"./', `"${this.relativeRoot(path)}`);
    this.setHeaders('index.html', 'no-cache', response);
    response.end(page);
  }

  /** How a page at this path refers to the root of the application: it may be served below a prefix that only a proxy knows. */
  private relativeRoot(path: string): string {
    if (path === this.mount) return `${this.mount.slice(this.mount.lastIndexOf('/') + 1)}/`;
    const depth = path.slice(this.mount.length + 1).split('/').length - 1;
    return depth === 0 ? './' : '../'.repeat(depth);
  }

  private async sendFile(name: string, cacheControl: string, request: Request, response: Response): Promise<void> {
    const file = this.find(name);
    this.setHeaders(name, cacheControl, response);
    response.setHeader('Vary', 'Accept-Encoding');
    if (!request.acceptsEncodings('gzip')) {
      response.end(file.bytes);
      return;
    }
    response.setHeader('Content-Encoding', 'gzip');
    response.end(await (file.compressed ??= compress(file.bytes, { level: constants.Z_BEST_COMPRESSION })));
  }

  private setHeaders(name: string, cacheControl: string, response: Response): void {
    response.type(extname(name)).set({
      'Content-Security-Policy': POLICY,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': cacheControl,
    });
  }

  private find(name: string): StaticFile {
    this.files ??= this.read();
    const file = this.files.get(name);
    if (file) return file;
    throw new ProblemError('resource_not_found', 'No route matches this path.');
  }

  private read(): Map<string, StaticFile> {
    const root = findShipped(this.directory);
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return new Map(
      files.map((entry) => {
        const path = join(entry.parentPath ?? entry.path, entry.name);
        return [path.slice(root.length + 1), { bytes: readFileSync(path) }];
      }),
    );
  }
}
