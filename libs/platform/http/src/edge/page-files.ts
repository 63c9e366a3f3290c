import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Response } from 'express';
import { findShipped } from '#platform/kernel';
import { ProblemError } from '../problems/problem-error.js';

/** Only own files and the own API, nothing inline: text of an agent cannot run even if it were markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A static page: `<name>.html` with `<name>.css` and `<name>.js`, read at the start, which fails without them. */
export class PageFiles {
  private readonly files: ReadonlyMap<string, Buffer>;

  /** `directory`: relative to the root of the project, such as `libs/domain/conversations/assets`. Throws if a file is missing. */
  constructor(
    private readonly name: string,
    directory: string,
  ) {
    const names = ['html', 'css', 'js'].map((extension) => `${name}.${extension}`);
    this.files = new Map(names.map((file) => [file, readFileSync(join(findShipped(directory), file))]));
  }

  show(response: Response): void {
    this.send(`${this.name}.html`, response);
  }

  /** Sends a script or style of the page. Throws a 404 for any other name. */
  asset(file: string, response: Response): void {
    if (file === `${this.name}.html`) throw notFound();
    this.send(file, response);
  }

  private send(name: string, response: Response): void {
    const file = this.files.get(name);
    if (!file) throw notFound();
    response.type(extname(name)).set({
      'Content-Security-Policy': POLICY,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
    });
    response.end(file);
  }
}

const notFound = (): ProblemError => new ProblemError('resource_not_found', 'No route matches this path.');
