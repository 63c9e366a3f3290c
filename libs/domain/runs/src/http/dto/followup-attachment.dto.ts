import { ArrayField, object, StringField } from '#platform/http';
import { MEDIA_TYPE } from '../../domain/attachment.js';

/** Files of one follow-up, and of one request that prepares them. */
export const MAX_FILES = 25;
const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

export class FileToPrepare {
  @StringField({ blank: false, max: 255, description: 'Name of the file, without directories.' }) filename: string;
  @StringField({ pattern: MEDIA_TYPE, says: 'a media type such as image/png', max: 255, description: 'Media type.' })
  mime_type: string;
}

export class PrepareAttachmentsRequest {
  @ArrayField(object(() => FileToPrepare), { minItems: 1, maxItems: MAX_FILES, description: 'Files to upload.' })
  files: FileToPrepare[];
}

export class PreparedAttachmentItem {
  @StringField({ description: 'ID of the attachment.' }) attachment_id: string;
  @StringField({
    description: 'Accepts one `PUT` request with at most 10 MiB. Needs no token; works for a limited time.',
  })
  upload_url: string;
}

export class PrepareAttachmentsResponse {
  @ArrayField(object(() => PreparedAttachmentItem), { description: 'In the order of the request.' })
  attachments: PreparedAttachmentItem[];
}

export class FollowupAttachment {
  @StringField({
    pattern: UUID,
    says: 'a UUID',
    description: 'ID of a file that was prepared for the run and uploaded.',
  })
  attachment_id: string;
  @StringField({ optional: true, blank: false, max: 255, description: 'Replaces the name of the file.' })
  file_name?: string;
}
