import { isStorableText } from '#platform/kernel';
import { type DefinitionFile, type Diagnostic, MAX_FILE_BYTES, MAX_FILES } from '../definition.js';
import { FACTORY_PATH, type Place, placeOf } from './layout.js';

export interface PlacedFile {
  readonly path: string;
  readonly text: string;
  readonly place: Exclude<Place, { kind: 'misplaced' }>;
}

interface CheckedFiles {
  /** Those whose text is worth reading, by path. */
  readonly placed: readonly PlacedFile[];
  readonly faults: readonly Diagnostic[];
}

const MAX_PATH = 255;

const UNSAFE = /[\\:\u0000-\u001f\u007f-\u009f]|^\/|\/\/|\/$|(?:^|\/)\.{1,2}(?:\/|$)/;

export function checkFiles(files: readonly DefinitionFile[]): CheckedFiles {
  const surplus = files[MAX_FILES];
  if (surplus) {
    const message = `A definition has at most ${MAX_FILES} files: this is one more.`;
    return { placed: [], faults: [fault(surplus.path, 'too_many_files', message)] };
  }
  const seen = new Map<string, string>();
  const placed: PlacedFile[] = [];
  const faults: Diagnostic[] = [];
  for (const { path, content } of files) {
    const checked = checkFile(path, content, seen.get(path.toLowerCase()));
    seen.set(path.toLowerCase(), path);
    if ('place' in checked) placed.push(checked);
    else faults.push(checked);
  }
  if (!seen.has(FACTORY_PATH)) faults.push(fault(FACTORY_PATH, 'missing_file', 'Every definition has a factory.yaml.'));
  return { placed: placed.sort((one, other) => (one.path < other.path ? -1 : 1)), faults };
}

function checkFile(path: string, text: string, sameButCase: string | undefined): PlacedFile | Diagnostic {
  if (path === '' || path.length > MAX_PATH || !path.isWellFormed() || UNSAFE.test(path))
    return fault(
      path,
      'unsafe_path',
      `Paths are relative to the definition, have single slashes, no . or .. in between, and at most ${MAX_PATH} characters.`,
    );
  if (sameButCase === path) return fault(path, 'duplicate_path', 'This path is given twice.');
  if (sameButCase !== undefined)
    return fault(path, 'path_collision', `Differs from ${sameButCase} by upper and lower case only.`);
  const place = placeOf(path);
  if (place.kind === 'misplaced') return fault(path, place.code, place.message);
  if (Buffer.byteLength(text) > MAX_FILE_BYTES)
    return fault(path, 'file_too_large', `A file has at most ${MAX_FILE_BYTES} bytes.`);
  if (!isStorableText(text)) return fault(path, 'not_text', 'Files are text in UTF-8, without NUL characters.');
  return { path, text, place };
}

export const fault = (path: string, code: string, message: string): Diagnostic => ({
  code,
  path,
  line: 1,
  column: 1,
  message,
});
