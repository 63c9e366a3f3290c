import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { PublicAddresses } from '#libs/kernel';

/** Which addresses notifications may be sent to: public ones, and those that NOTIFY_ALLOW_PRIVATE lists. */
@Injectable()
export class AddressGuard extends PublicAddresses {
  constructor(settings: Settings) {
    super(settings.notifyAllowPrivate);
  }
}
