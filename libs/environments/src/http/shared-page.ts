import { existsSync, readFileSync } from 'node:fs';
import { Injectable } from '@nestjs/common';

export interface PageFile {
  readonly contentType: string;
  readonly content: Buffer;
}

const CONTENT_TYPES = {
  'shared.html': 'text/html; charset=utf-8',
  'shared.css': 'text/css; charset=utf-8',
  'shared.js': 'text/javascript; charset=utf-8',
} as const;

/** The files of the page behind links, read once. A program without them does not start. */
@Injectable()
export class SharedPage {
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
    const candidate = new URL('libs/environments/assets/', up);
    if (existsSync(new URL('shared.html', candidate))) return candidate;
  }
  throw new Error('The files of the page behind links are missing: libs/environments/assets.');
}
