import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { OpenIdProvider } from '#platform/auth';
import { Settings } from '#platform/config';
import { Operation, Public } from '#platform/http';
import { SignInOptions } from './dto/sessions.dto.js';

@ApiTags('Administration')
@Controller('sign-in-options')
export class SignInOptionsController {
  constructor(
    private readonly settings: Settings,
    private readonly provider: OpenIdProvider,
  ) {}

  @Get()
  @Public()
  @Operation({
    id: 'getSignInOptions',
    summary: 'Get the sign-in options',
    security: 'none',
    description:
      'How browsers can sign in besides a link and a token. A browser begins at `/sign-in/openid`, which leads to the provider.',
    success: { status: 200, description: 'The options.', type: SignInOptions },
    errors: [],
  })
  get(): SignInOptions {
    return this.provider.isConfigured ? { openid: { name: this.settings.oidcName } } : {};
  }
}
