import { All, Controller, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Settings } from '#libs/config';
import { writeProblem } from './ingress-problem.js';

/** Deliveries of custom webhooks. No webhook can exist yet, so every address answers what an unknown one will answer. */
@Controller('webhooks/w')
export class WebhooksController {
  constructor(private readonly settings: Settings) {}

  @All([':uid', ':uid/:token'])
  deliver(@Req() request: Request, @Res() response: Response): void {
    if (request.method !== 'POST') {
      writeProblem(response, this.settings.publicUrl, 'method_not_allowed', 'A webhook takes POST.', { Allow: 'POST' });
      return;
    }
    writeProblem(response, this.settings.publicUrl, 'resource_not_found', 'There is no webhook at this address.');
  }
}
