import { ArrayField, object, StringField } from '#libs/http';

export class HandoffAttachment {
  @StringField() attachment_id: string;
  @StringField() filename: string;
  @StringField({ description: 'Needs no token; works for a limited time.' }) download_url: string;
  @StringField({ optional: true }) mime_type?: string;
}

export class ListHandoffAttachmentsResponse {
  @ArrayField(object(() => HandoffAttachment)) attachments: HandoffAttachment[];
}
