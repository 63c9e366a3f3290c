import { EnumField, IntegerField, JsonField, StringField } from '#platform/http';
import {
  CONTENT_ARTIFACT_TYPES,
  type ContentArtifactType,
  REFERENCE_ARTIFACT_TYPES,
  type ReferenceArtifactType,
} from '../../domain/artifact.js';
import { MAX_LOCATOR_LENGTH } from '../../domain/canonical-url.js';

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
export class ArtifactReferenceBody {
  @IntegerField(EPOCH) lease_epoch: number;
  @StringField(SOURCE_KEY) source_key: string;
  @EnumField(REFERENCE_ARTIFACT_TYPES) artifact_type: ReferenceArtifactType;
  @StringField(URL_FIELD) url: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512 }) branch?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 256 }) reference_type?: string;
  @StringField(TITLE) title?: string;
  @JsonField({ ...OPTIONAL, ...OBJECT }) metadata?: object;
}
