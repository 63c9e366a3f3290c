import { getSchemaPath } from '@nestjs/swagger';
import { DateTimeField, EnumField, IntegerField, JsonField, ObjectField, StringField } from '#platform/http';
import type { ArtifactData, ArtifactType } from '../../domain/artifact.js';

/*
 * What the document says of artifacts: `artifact_type` decides what `data` holds, so every type is a schema of its own,
 * once as a run lists it and once as it is shown by itself.
 */

const OPTIONAL = { optional: true } as const;
const LINK = { description: 'Needs no token; works until `expires_at`.' } as const;

/** Something that a run has produced, as the run lists it. */
export interface RunArtifact {
  readonly artifact_type: ArtifactType;
  readonly created_at: string;
  readonly data: ArtifactData;
}

export interface ArtifactResponse extends RunArtifact {
  readonly artifact_uid: string;
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
}

class ScreenshotData {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @StringField({ description: 'Media type.' }) mime_type: string;
  @StringField({ ...OPTIONAL, description: 'What the screenshot shows.' }) description?: string;
}

class FileData {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @StringField({ description: 'As the agent names it, relative to its working directory.' }) filepath: string;
  @StringField({ description: 'Name of the file.' }) filename: string;
  @StringField({ description: 'Media type.' }) mime_type: string;
  @StringField({ ...OPTIONAL, description: 'Title of the file.' }) title?: string;
  @StringField({ ...OPTIONAL, description: 'Description of the file.' }) description?: string;
  @IntegerField({ ...OPTIONAL, description: 'Size in bytes.' }) size_bytes?: number;
}

class ExternalReferenceData {
  @StringField({ description: 'What kind of thing it is, in the agent’s words.' }) reference_type: string;
  @StringField({ description: 'In its canonical form.' }) url: string;
  @StringField({ ...OPTIONAL, description: 'Title of the page that is referred to.' }) title?: string;
  @JsonField({
    ...OPTIONAL,
    schema: { type: 'object', additionalProperties: true },
    description: 'Further facts about the reference, as the agent supplied them.',
  })
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

class FileContentData extends FileData {
  @StringField(LINK) download_url: string;
  @DateTimeField({ description: 'Time after which `download_url` stops working.' }) expires_at: string;
  @StringField({ description: 'Media type of the content.' }) content_type: string;
}

class PlanArtifact {
  @EnumField(['PLAN'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'PLAN';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => PlanData, { description: 'The fields of this type of artifact.' }) data: PlanData;
}

class PullRequestArtifact {
  @EnumField(['PULL_REQUEST'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'PULL_REQUEST';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => PullRequestData, { description: 'The fields of this type of artifact.' }) data: PullRequestData;
}

class ScreenshotArtifact {
  @EnumField(['SCREENSHOT'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'SCREENSHOT';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => ScreenshotData, { description: 'The fields of this type of artifact.' }) data: ScreenshotData;
}

class FileArtifact {
  @EnumField(['FILE'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'FILE';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => FileData, { description: 'The fields of this type of artifact.' }) data: FileData;
}

class ExternalReferenceArtifact {
  @EnumField(['EXTERNAL_REFERENCE'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'EXTERNAL_REFERENCE';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => ExternalReferenceData, { description: 'The fields of this type of artifact.' })
  data: ExternalReferenceData;
}

class PlanArtifactResponse {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @EnumField(['PLAN'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'PLAN';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => PlanContentData, { description: 'The fields of this type of artifact.' }) data: PlanContentData;
}

class PullRequestArtifactResponse {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @EnumField(['PULL_REQUEST'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'PULL_REQUEST';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => PullRequestData, { description: 'The fields of this type of artifact.' }) data: PullRequestData;
}

class ScreenshotArtifactResponse {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @EnumField(['SCREENSHOT'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'SCREENSHOT';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => ScreenshotContentData, { description: 'The fields of this type of artifact.' })
  data: ScreenshotContentData;
}

class FileArtifactResponse {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @EnumField(['FILE'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'FILE';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => FileContentData, { description: 'The fields of this type of artifact.' }) data: FileContentData;
}

class ExternalReferenceArtifactResponse {
  @StringField({ description: 'ID of the artifact.' }) artifact_uid: string;
  @EnumField(['EXTERNAL_REFERENCE'], { description: 'Type of the artifact, which decides the fields of `data`.' })
  artifact_type: 'EXTERNAL_REFERENCE';
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => ExternalReferenceData, { description: 'The fields of this type of artifact.' })
  data: ExternalReferenceData;
}

type ClassByType = Readonly<Record<ArtifactType, new () => object>>;
const LISTED: ClassByType = {
  PLAN: PlanArtifact,
  PULL_REQUEST: PullRequestArtifact,
  SCREENSHOT: ScreenshotArtifact,
  FILE: FileArtifact,
  EXTERNAL_REFERENCE: ExternalReferenceArtifact,
};
const SHOWN: ClassByType = {
  PLAN: PlanArtifactResponse,
  PULL_REQUEST: PullRequestArtifactResponse,
  SCREENSHOT: ScreenshotArtifactResponse,
  FILE: FileArtifactResponse,
  EXTERNAL_REFERENCE: ExternalReferenceArtifactResponse,
};

const byType = (classes: ClassByType) => ({
  oneOf: Object.values(classes).map((dto) => ({ $ref: getSchemaPath(dto) })),
  discriminator: {
    propertyName: 'artifact_type',
    mapping: Object.fromEntries(Object.entries(classes).map(([type, dto]) => [type, getSchemaPath(dto)])),
  },
});

/** The document has to be told of them once. */
export const ARTIFACT_CLASSES = [...Object.values(LISTED), ...Object.values(SHOWN)];
export const RUN_ARTIFACT_SCHEMA = byType(LISTED);
export const ARTIFACT_SCHEMA = byType(SHOWN);
