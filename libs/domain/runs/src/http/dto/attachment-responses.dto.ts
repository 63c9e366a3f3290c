import { ArrayField, object, StringField } from '#platform/http';

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
