import { Injectable } from '@nestjs/common';
import { SecretBox } from '../secret-box.js';
import { type ResealCount, SealedPlaces } from './sealed-places.js';

export interface RotatedPlace extends ResealCount {
  readonly name: string;
}

/** Seals every value of the installation anew that is not under the current key. Safe while others work, and twice. */
@Injectable()
export class RotateKey {
  constructor(
    private readonly places: SealedPlaces,
    private readonly box: SecretBox,
  ) {}

  /** Tells of each place when it is done. */
  async *execute(): AsyncGenerator<RotatedPlace> {
    const reseal = (sealed: string, context: string): string | null => this.box.reseal(sealed, context);
    for (const place of this.places.all) yield { name: place.name, ...(await place.reseal(reseal)) };
  }
}
