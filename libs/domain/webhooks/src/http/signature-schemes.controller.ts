import { Controller, Get } from '@nestjs/common';
import { Authorize } from '#platform/auth';
import { Operation } from '#platform/http';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { ListSignatureSchemesResponse } from './webhook.dto.js';

@Controller('webhook-signature-schemes')
export class SignatureSchemesController {
  constructor(private readonly schemes: SignatureSchemes) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listWebhookSignatureSchemes',
    summary: 'List the ways of signing that webhooks can check',
    description: 'For everybody with a token.',
    tag: 'Webhooks',
    success: { status: 200, description: 'The signature schemes.', type: ListSignatureSchemesResponse },
    errors: [403],
  })
  listWebhookSignatureSchemes(): ListSignatureSchemesResponse {
    return {
      signature_schemes: this.schemes.all().map((scheme) => ({
        id: scheme.id,
        label: scheme.label,
        documentation_url: scheme.documentationUrl,
        headers: [...scheme.signatureHeaders],
        delivery_id_headers: [...scheme.deliveryIdHeaders],
      })),
    };
  }
}
