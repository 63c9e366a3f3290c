import { ArrayField, BooleanField, EnumField, IntegerField, object, ObjectField, StringField } from '#platform/http';
import { FILE_CHANGES } from '#execution/executions';
import { SnapshotReference } from './run-responses.dto.js';

const OPTIONAL = { optional: true } as const;
const POINT =
  'a sequence number of the log (`sequence` in the timeline), the id of a snapshot, or the id of a step: the last snapshot at or before it.';
const PATH = {
  ...OPTIONAL,
  max: 4096,
  pattern: /^(?!(?:[\s\S]*\/)?\.\.(?:\/|$))/,
  says: 'a path without `..`',
} as const;

export class RunChangesParameters {
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 64,
    description: `Earlier point: ${POINT} Default: the start of the run.`,
  })
  from?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64, description: `Later point: ${POINT} Default: the last snapshot.` })
  to?: string;
  @StringField({ ...PATH, description: 'Changes of this file or below this directory only.' }) path?: string;
}

export class RunFileParameters {
  @StringField({ ...PATH, description: 'Relative to the working directory, which is the default.' }) path?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64, description: `Time: ${POINT} Default: the last snapshot.` })
  at?: string;
}

const ENTRY_TYPES = ['file', 'directory', 'link'] as const;

export class ChangedFile {
  @StringField({ description: 'Relative to the working directory.' }) path: string;
  @EnumField(FILE_CHANGES, { name: 'FileChange', description: 'What has changed. `modified` includes permissions.' })
  change: (typeof FILE_CHANGES)[number];
  @StringField({ ...OPTIONAL, description: 'Path before a renaming.' }) old_path?: string;
  @StringField({
    ...OPTIONAL,
    description: 'Type and permissions before, as git writes them: `100644`, `120000` for a link.',
  })
  old_mode?: string;
  @StringField({ ...OPTIONAL, description: 'Type and permissions after.' }) new_mode?: string;
  @IntegerField({ ...OPTIONAL, min: 0, description: 'Size before.' }) old_size_bytes?: number;
  @IntegerField({ ...OPTIONAL, min: 0, description: 'Size after.' }) new_size_bytes?: number;
  @BooleanField({ description: 'Whether the content is not text.' }) is_binary: boolean;
  @IntegerField({ ...OPTIONAL, min: 0, description: 'Added lines.' }) additions?: number;
  @IntegerField({ ...OPTIONAL, min: 0, description: 'Removed lines.' }) deletions?: number;
  @StringField({ ...OPTIONAL, description: 'Unified diff.' }) diff?: string;
}

export class ListRunChangesResponse {
  @ObjectField(() => SnapshotReference, {
    nullable: true,
    description: 'The earlier snapshot. Null: an empty directory.',
  })
  from: SnapshotReference | null;
  @ObjectField(() => SnapshotReference, { description: 'The later snapshot.' }) to: SnapshotReference;
  @ArrayField(object(() => ChangedFile), { description: 'The changed files, by path.' }) files: ChangedFile[];
  @BooleanField({
    description: 'Whether files or diffs were left out because of a limit, or because stored content is damaged.',
  })
  truncated: boolean;
}

export class RunDirectoryEntry {
  @StringField({ description: 'Name in the directory.' }) name: string;
  @EnumField(ENTRY_TYPES, { name: 'FileType', description: 'Type of the entry.' }) type: (typeof ENTRY_TYPES)[number];
  @IntegerField({ ...OPTIONAL, min: 0, description: 'Size of a file.' }) size_bytes?: number;
  @StringField({ ...OPTIONAL, description: 'Type and permissions of a file, as git writes them.' }) mode?: string;
  @StringField({ ...OPTIONAL, description: 'Where a link leads.' }) target?: string;
}

export class RunDirectoryResponse {
  @ObjectField(() => SnapshotReference, { description: 'The snapshot.' }) snapshot: SnapshotReference;
  @ArrayField(object(() => RunDirectoryEntry), { description: 'The entries of the directory.' })
  entries: RunDirectoryEntry[];
}
