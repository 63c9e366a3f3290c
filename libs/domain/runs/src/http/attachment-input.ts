import { invalidInput, tooLarge } from '#platform/http';
import { type AttachmentInput, checkAttachments, type RawAttachment } from '../domain/attachment.js';

/** The attachments of a request, decoded. Throws a problem that names every invalid attachment. */
export function toAttachments(raw: readonly RawAttachment[] | undefined): readonly AttachmentInput[] {
  const checked = checkAttachments(raw ?? []);
  switch (checked.kind) {
    case 'valid':
      return checked.attachments;
    case 'invalid':
      throw invalidInput(checked.issues);
    case 'too_large':
      throw tooLarge(checked);
  }
}
