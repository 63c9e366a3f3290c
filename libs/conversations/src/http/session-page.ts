import { existsSync, readFileSync } from 'node:fs';
import { Injectable } from '@nestjs/common';

export interface PageFile {
  readonly contentType: string;
  readonly content: Buffer;
}

const CONTENT_TYPES = {
  'session.html': 'text/html; charset=utf-8',
  'session.css': 'text/css; charset=utf-8',
  'session.js': 'text/javascript; charset=utf-8',
} as const;
export type PageFileName = keyof typeof CONTENT_TYPES;

/** The files of the session page, read once. A program without them does not start. */
@Injectable()
export class SessionPage {
  private readonly files: ReadonlyMap<string, PageFile>;

  constructor() {
    const directory = assetsDirectory();
    this.files = new Map(
      Object.entries(CONTENT_TYPES).map(([name, contentType]) => [
        name,
        { contentType, content: readFileSync(new URL(name, directory)) },
      ]),
    );
  }

  find(name: string): PageFile | undefined {
    return this.files.get(name);
  }
}

/** Beside the sources, whether this file runs from them or from what was built of them. */
function assetsDirectory(): URL {
  for (let up = new URL('./', import.meta.url); up.pathname !== '/'; up = new URL('../', up)) {
    const candidate = new URL('libs/conversations/assets/', up);
    if (existsSync(new URL('session.html', candidate))) return candidate;
  }
  throw new Error('The files of the session page are missing: libs/conversations/assets.');
}
