import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PublicAddresses } from '#platform/kernel';

/** Which addresses notifications may be sent to: public ones, and those that NOTIFY_ALLOW_PRIVATE lists. */
@Injectable()
export class AddressGuard extends PublicAddresses {
  constructor(settings: Settings) {
    super(settings.notifyAllowPrivate);
  }
}
