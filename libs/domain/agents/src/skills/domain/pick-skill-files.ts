import { MAX_REPOSITORY_BYTES, MAX_SKILL_BYTES, MAX_SKILL_FILES } from './skill-limits.js';
import { bySkillPath, isSkillFile } from './skill-path.js';

/** An entry of a repository's tree, as git says it. */
export interface TreeFile {
  /** `100644` and `100755` are files; links (`120000`) and submodules (`160000`) are never followed. */
  readonly mode: string;
  readonly oid: string;
  /** Bytes. */
  readonly size: number;
  readonly path: string;
}

export interface PickedFile extends TreeFile {
  /** Why it is not read, as a sentence. */
  readonly fault?: string;
}

/** The SKILL.md files of a tree, listed ones first, as many as one repository may have, and which of them are too large. */
export function pickSkillFiles(tree: Iterable<TreeFile>): PickedFile[] {
  const files: TreeFile[] = [];
  for (const file of tree) if (file.mode.startsWith('100') && isSkillFile(file.path)) files.push(file);
  files.sort((a, b) => bySkillPath(a.path, b.path));
  let bytes = 0;
  const counted = new Set<string>();
  return files.slice(0, MAX_SKILL_FILES).map((file) => {
    if (file.size > MAX_SKILL_BYTES)
      return { ...file, fault: `The file has ${file.size} bytes; at most ${MAX_SKILL_BYTES} are read.` };
    const more = counted.has(file.oid) ? 0 : file.size;
    if (bytes + more > MAX_REPOSITORY_BYTES)
      return { ...file, fault: `The skills of this repository have more than ${MAX_REPOSITORY_BYTES} bytes.` };
    bytes += more;
    counted.add(file.oid);
    return file;
  });
}
