import { getSchemaPath } from '@nestjs/swagger';
import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  ignoreUnknownFields,
  IntegerField,
  JsonField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { PULL_REQUEST_STATUSES, type PullRequestStatus } from '#execution/runner-protocol';
import {
  ARTIFACT_TYPES,
  type ArtifactData,
  type ArtifactType,
  CONTENT_ARTIFACT_TYPES,
  type ContentArtifactType,
  hasSourceLinks,
  REFERENCE_ARTIFACT_TYPES,
  type ReferenceArtifactType,
  MAX_LOCATOR_LENGTH,
} from '../../domain/artifact.js';

const OPTIONAL = { optional: true } as const;
const OBJECT = { schema: { type: 'object', additionalProperties: true } } as const;
const EPOCH = { min: 1, max: 2_147_483_647 } as const;
const SOURCE_KEY = {
  pattern: /^[A-Za-z0-9._:-]{1,128}$/,
  says: '1 to 128 letters, digits, dots, underscores, colons or hyphens',
} as const;
const MIME_TYPE = {
  max: 200,
  pattern: /^[A-Za-z0-9][\w!#$&^.+-]*\/[A-Za-z0-9][\w!#$&^.+-]*$/,
  says: 'a media type such as text/plain',
} as const;
const TITLE = { ...OPTIONAL, blank: false, max: 512 } as const;
const URL_FIELD = { blank: false, max: MAX_LOCATOR_LENGTH } as const;

export class ExternalReferenceParameters {
  @StringField({
    ...URL_FIELD,
    description:
      'The address; compared in its canonical form, so that case of scheme and host, a default port, slashes at the end of the path and a fragment make no difference.',
    example: 'https://tracker.example.com/browse/ABC-1',
  })
  url: string;
}

export class RunByExternalReferenceResponse {
  @StringField({ description: 'The newest run that refers to the address, among those that the caller may see.' })
  run_id: string;
}

/** Runner protocol: the query of an upload. */
@ignoreUnknownFields
export class ArtifactContentParameters {
  @IntegerField(EPOCH) lease_epoch: number;
  @StringField(SOURCE_KEY) source_key: string;
  @EnumField(CONTENT_ARTIFACT_TYPES) artifact_type: ContentArtifactType;
  @StringField(MIME_TYPE) mime_type: string;
  @StringField({ blank: false, max: 1024 }) filepath: string;
  @StringField(TITLE) title?: string;
  @StringField({ ...OPTIONAL, max: 2048 }) description?: string;
  @StringField({ ...OPTIONAL, ...URL_FIELD, pattern: /^https?:\/\//i, says: 'an http or https URL' }) url?: string;
}

/** Runner protocol: a reference to something elsewhere. */
@ignoreUnknownFields
export class ArtifactReferenceBody {
  @IntegerField(EPOCH) lease_epoch: number;
  @StringField(SOURCE_KEY) source_key: string;
  @EnumField(REFERENCE_ARTIFACT_TYPES) artifact_type: ReferenceArtifactType;
  @StringField(URL_FIELD) url: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512 }) branch?: string;
  @EnumField(PULL_REQUEST_STATUSES, OPTIONAL) status?: PullRequestStatus;
  @BooleanField(OPTIONAL) created_by_run?: boolean;
  @StringField({ ...OPTIONAL, blank: false, max: 256 }) reference_type?: string;
  @StringField(TITLE) title?: string;
  @JsonField({ ...OPTIONAL, ...OBJECT }) metadata?: object;
}

/*
 * What the document says of artifacts: `artifact_type` decides what `data` holds, so every type has a separate schema,
 * once as a run lists it and once as it is shown by itself.
 */

const LINK = { description: 'Needs no token; works until `expires_at`.' } as const;

export interface RunArtifact {
  readonly artifact_type: ArtifactType;
  readonly created_at: string;
  readonly data: ArtifactData;
}

export class ArtifactSourceLinks {
  @StringField({ ...OPTIONAL, description: 'Page of the run at the top of the chain of parent runs.' })
  run_url?: string;
  @ArrayField(text(), {
    ...OPTIONAL,
    description: 'Addresses of the pull requests that this run and the runs below it have reported, at most 20.',
  })
  pull_request_urls?: string[];
}

export interface ArtifactResponse extends RunArtifact {
  readonly artifact_uid: string;
  readonly source_links?: ArtifactSourceLinks;
}

class PlanData {
  @StringField({ description: 'ID of the plan’s document.' }) document_uid: string;
  @StringField({ ...OPTIONAL, description: 'ID of the artifact.' }) artifact_uid?: string;
  @StringField({ ...OPTIONAL, description: 'ID of the plan’s notebook.' }) notebook_uid?: string;
  @StringField({ ...OPTIONAL, description: 'Title of the plan.' }) title?: string;
  @StringField({ ...OPTIONAL, description: 'Address of the plan.' }) url?: string;
}

class PullRequestData {
  @StringField({ description: 'Address of the pull request.' }) url: string;
  @StringField({ description: 'Branch of the pull request.' }) branch: string;
  @EnumField(PULL_REQUEST_STATUSES, {
    name: 'PullRequestStatus',
    description: 'State of the pull request as the agent reported it; `unknown` when it reported none.',
  })
  status: PullRequestStatus;
}

class ScreenshotData {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @StringField({ description: 'Media type.' }) mime_type: string;
  @StringField({ ...OPTIONAL, description: 'What the screenshot shows.' }) description?: string;
}

class FileData {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @StringField({ description: 'Path as the agent reports it, relative to its working directory.' }) filepath: string;
  @StringField({ description: 'Name of the file.' }) filename: string;
  @StringField({ description: 'Media type.' }) mime_type: string;
  @StringField({ ...OPTIONAL, description: 'Title of the file.' }) title?: string;
  @StringField({ ...OPTIONAL, description: 'Description of the file.' }) description?: string;
  @IntegerField({ ...OPTIONAL, description: 'Size in bytes.' }) size_bytes?: number;
}

class DiffData {
  @StringField({ description: 'ID of the artifact; it stays the same when the run changes the repository again.' })
  artifact_uid: string;
  @StringField({ description: 'Directory of the repository in the working directory, with `.diff`.' }) filepath: string;
  @StringField({ description: 'Name of the file.' }) filename: string;
  @StringField({ description: 'Media type.' }) mime_type: string;
  @StringField({ ...OPTIONAL, description: 'The repository that was changed.' }) title?: string;
  @StringField({ ...OPTIONAL, description: 'The commit to which the patch applies.' }) description?: string;
  @IntegerField({ ...OPTIONAL, description: 'Size in bytes.' }) size_bytes?: number;
}

class ExternalReferenceData {
  @StringField({ description: 'What kind of thing it is, in the agent’s words.' }) reference_type: string;
  @StringField({ description: 'URL in its canonical form.' }) url: string;
  @StringField({ ...OPTIONAL, description: 'Title of the page that is referred to.' }) title?: string;
  @JsonField({ ...OPTIONAL, ...OBJECT, description: 'Further facts about the reference, as the agent supplied them.' })
  metadata?: object;
}

class PlanContentData extends PlanData {
  @StringField({ description: 'Markdown.' }) content: string;
  @StringField({ description: 'Media type of the content.' }) content_type: string;
}

class ScreenshotContentData extends ScreenshotData {
  @StringField({ description: 'Path of the file in the workspace.' }) filepath: string;
  @StringField({ description: 'Name of the file.' }) filename: string;
  @IntegerField({ ...OPTIONAL, description: 'Size in bytes.' }) size_bytes?: number;
  @StringField(LINK) download_url: string;
  @DateTimeField({ description: 'Time after which `download_url` stops working.' }) expires_at: string;
  @StringField({ description: 'Media type of the content.' }) content_type: string;
}

class DiffContentData extends DiffData {
  @StringField(LINK) download_url: string;
  @DateTimeField({ description: 'Time after which `download_url` stops working.' }) expires_at: string;
  @StringField({ description: 'Media type of the content.' }) content_type: string;
}

class FileContentData extends FileData {
  @StringField(LINK) download_url: string;
  @DateTimeField({ description: 'Time after which `download_url` stops working.' }) expires_at: string;
  @StringField({ description: 'Media type of the content.' }) content_type: string;
}

type DtoClass = new () => object;

/** The name of the schemas of each type, and its data as a run lists it and as it is returned by itself. */
const SCHEMAS: Readonly<Record<ArtifactType, readonly [name: string, listed: DtoClass, shown: DtoClass]>> = {
  PLAN: ['PlanArtifact', PlanData, PlanContentData],
  PULL_REQUEST: ['PullRequestArtifact', PullRequestData, PullRequestData],
  SCREENSHOT: ['ScreenshotArtifact', ScreenshotData, ScreenshotContentData],
  FILE: ['FileArtifact', FileData, FileContentData],
  DIFF: ['DiffArtifact', DiffData, DiffContentData],
  EXTERNAL_REFERENCE: ['ExternalReferenceArtifact', ExternalReferenceData, ExternalReferenceData],
};

function artifactClass(type: ArtifactType, isListed: boolean): DtoClass {
  const [schema, listed, shown] = SCHEMAS[type];
  const name = isListed ? schema : `${schema}Response`;
  const dto = { [name]: class {} }[name] ?? class {};
  const target = dto.prototype;
  if (!isListed) StringField({ description: 'ID of the artifact.' })(target, 'artifact_uid');
  const describedType = { description: 'Type of the artifact, which decides the fields of `data`.' };
  EnumField([type], describedType)(target, 'artifact_type');
  DateTimeField({ description: 'Time of creation.' })(target, 'created_at');
  const data = { description: 'The fields of this type of artifact.' };
  ObjectField(() => (isListed ? listed : shown), data)(target, 'data');
  const links = { ...OPTIONAL, description: 'Where the artifact comes from. The pages require a token.' };
  if (!isListed && hasSourceLinks(type)) ObjectField(() => ArtifactSourceLinks, links)(target, 'source_links');
  return dto;
}

const LISTED = ARTIFACT_TYPES.map((type) => [type, artifactClass(type, true)] as const);
const SHOWN = ARTIFACT_TYPES.map((type) => [type, artifactClass(type, false)] as const);

const byType = (classes: typeof LISTED) => ({
  oneOf: classes.map(([, dto]) => ({ $ref: getSchemaPath(dto) })),
  discriminator: {
    propertyName: 'artifact_type',
    mapping: Object.fromEntries(classes.map(([type, dto]) => [type, getSchemaPath(dto)])),
  },
});

/** The document has to register them once. */
export const ARTIFACT_CLASSES = [...LISTED, ...SHOWN].map(([, dto]) => dto);
export const RUN_ARTIFACT_SCHEMA = byType(LISTED);
export const ARTIFACT_SCHEMA = byType(SHOWN);

export class HandoffAttachment {
  @StringField({ description: 'ID of the attachment.' }) attachment_id: string;
  @StringField({ description: 'Name of the file.' }) filename: string;
  @StringField({ description: 'Needs no token; works for a limited time.' }) download_url: string;
  @StringField({ optional: true, description: 'Media type.' }) mime_type?: string;
}

export class ListHandoffAttachmentsResponse {
  @ArrayField(object(() => HandoffAttachment), { description: 'The attachments of the run.' })
  attachments: HandoffAttachment[];
}
