import { Injectable } from '@nestjs/common';

/**
 * The value sealed anew under the current key; null when it is under that already. Throws a SealBrokenError when it does
 * not open.
 */
export type Reseal = (sealed: string, context: string) => string | null;

/** How many values of a place were sealed anew, and how many do not open. */
export interface ResealCount {
  readonly changed: number;
  readonly broken: number;
}

/** Every table that holds sealed values is one, so that the key can be changed. */
export abstract class SealedPlace {
  /** The table's name. */
  abstract readonly name: string;
  /** Goes through all values. Others may read and write them meanwhile; those that do not open are left as they are. */
  abstract reseal(reseal: Reseal): Promise<ResealCount>;
}

@Injectable()
export class SealedPlaces {
  private readonly places: SealedPlace[] = [];

  register(place: SealedPlace): void {
    this.places.push(place);
  }

  get all(): readonly SealedPlace[] {
    return this.places;
  }
}
