import { ProblemError } from '#platform/http';
import { type AttachmentInput, checkAttachments, type RawAttachment } from '../domain/attachment.js';

/** The attachments of a request, decoded. Throws the problem that names what is wrong with which. */
export function toAttachments(raw: readonly RawAttachment[] | undefined): readonly AttachmentInput[] {
  const checked = checkAttachments(raw ?? []);
  switch (checked.kind) {
    case 'valid':
      return checked.attachments;
    case 'invalid': {
      const { issues } = checked;
      throw new ProblemError('invalid_request', issues.map(sentence).join(' '), { errors: [...issues] });
    }
    case 'too_large': {
      const { pointer, detail } = checked;
      throw new ProblemError('payload_too_large', sentence(checked), { errors: [{ pointer, detail }] });
    }
  }
}

const sentence = ({ pointer, detail }: { pointer: string; detail: string }): string =>
  `\`${pointer.slice(1).replaceAll('/', '.')}\` ${detail}.`;
