import { getSchemaPath } from '@nestjs/swagger';
import { DateTimeField, EnumField, IntegerField, JsonField, ObjectField, StringField } from '#libs/http';
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
  @StringField() document_uid: string;
  @StringField(OPTIONAL) artifact_uid?: string;
  @StringField(OPTIONAL) notebook_uid?: string;
  @StringField(OPTIONAL) title?: string;
  @StringField(OPTIONAL) url?: string;
}

class PullRequestData {
  @StringField() url: string;
  @StringField() branch: string;
}

class ScreenshotData {
  @StringField() artifact_uid: string;
  @StringField() mime_type: string;
  @StringField(OPTIONAL) description?: string;
}

class FileData {
  @StringField() artifact_uid: string;
  @StringField({ description: 'As the agent names it, relative to its working directory.' }) filepath: string;
  @StringField() filename: string;
  @StringField() mime_type: string;
  @StringField(OPTIONAL) title?: string;
  @StringField(OPTIONAL) description?: string;
  @IntegerField(OPTIONAL) size_bytes?: number;
}

class ExternalReferenceData {
  @StringField({ description: 'What kind of thing it is, in the agent’s words.' }) reference_type: string;
  @StringField({ description: 'In its canonical form.' }) url: string;
  @StringField(OPTIONAL) title?: string;
  @JsonField({ ...OPTIONAL, schema: { type: 'object', additionalProperties: true } }) metadata?: object;
}

class PlanContentData extends PlanData {
  @StringField({ description: 'Markdown.' }) content: string;
  @StringField() content_type: string;
}

class ScreenshotContentData extends ScreenshotData {
  @StringField() filepath: string;
  @StringField() filename: string;
  @IntegerField(OPTIONAL) size_bytes?: number;
  @StringField(LINK) download_url: string;
  @DateTimeField() expires_at: string;
  @StringField() content_type: string;
}

class FileContentData extends FileData {
  @StringField(LINK) download_url: string;
  @DateTimeField() expires_at: string;
  @StringField() content_type: string;
}

class PlanArtifact {
  @EnumField(['PLAN']) artifact_type: 'PLAN';
  @DateTimeField() created_at: string;
  @ObjectField(() => PlanData) data: PlanData;
}

class PullRequestArtifact {
  @EnumField(['PULL_REQUEST']) artifact_type: 'PULL_REQUEST';
  @DateTimeField() created_at: string;
  @ObjectField(() => PullRequestData) data: PullRequestData;
}

class ScreenshotArtifact {
  @EnumField(['SCREENSHOT']) artifact_type: 'SCREENSHOT';
  @DateTimeField() created_at: string;
  @ObjectField(() => ScreenshotData) data: ScreenshotData;
}

class FileArtifact {
  @EnumField(['FILE']) artifact_type: 'FILE';
  @DateTimeField() created_at: string;
  @ObjectField(() => FileData) data: FileData;
}

class ExternalReferenceArtifact {
  @EnumField(['EXTERNAL_REFERENCE']) artifact_type: 'EXTERNAL_REFERENCE';
  @DateTimeField() created_at: string;
  @ObjectField(() => ExternalReferenceData) data: ExternalReferenceData;
}

class PlanArtifactResponse {
  @StringField() artifact_uid: string;
  @EnumField(['PLAN']) artifact_type: 'PLAN';
  @DateTimeField() created_at: string;
  @ObjectField(() => PlanContentData) data: PlanContentData;
}

class PullRequestArtifactResponse {
  @StringField() artifact_uid: string;
  @EnumField(['PULL_REQUEST']) artifact_type: 'PULL_REQUEST';
  @DateTimeField() created_at: string;
  @ObjectField(() => PullRequestData) data: PullRequestData;
}

class ScreenshotArtifactResponse {
  @StringField() artifact_uid: string;
  @EnumField(['SCREENSHOT']) artifact_type: 'SCREENSHOT';
  @DateTimeField() created_at: string;
  @ObjectField(() => ScreenshotContentData) data: ScreenshotContentData;
}

class FileArtifactResponse {
  @StringField() artifact_uid: string;
  @EnumField(['FILE']) artifact_type: 'FILE';
  @DateTimeField() created_at: string;
  @ObjectField(() => FileContentData) data: FileContentData;
}

class ExternalReferenceArtifactResponse {
  @StringField() artifact_uid: string;
  @EnumField(['EXTERNAL_REFERENCE']) artifact_type: 'EXTERNAL_REFERENCE';
  @DateTimeField() created_at: string;
  @ObjectField(() => ExternalReferenceData) data: ExternalReferenceData;
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
