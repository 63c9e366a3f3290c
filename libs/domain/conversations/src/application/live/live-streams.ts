import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';

export type Admission = { readonly release: () => void } | 'too_many_of_yours' | 'too_many';

/** How many streams are open in this process, in all and of each principal. */
@Injectable()
export class LiveStreams {
  private readonly byPrincipal = new Map<string, number>();
  private open = 0;

  constructor(private readonly settings: Settings) {}

  admit(principalUid: string): Admission {
    const theirs = this.byPrincipal.get(principalUid) ?? 0;
    if (theirs >= this.settings.liveMaxStreamsPerPrincipal) return 'too_many_of_yours';
    if (this.open >= this.settings.liveMaxStreams) return 'too_many';
    this.byPrincipal.set(principalUid, theirs + 1);
    this.open += 1;
    return { release: () => this.release(principalUid) };
  }

  private release(principalUid: string): void {
    this.open -= 1;
    const left = (this.byPrincipal.get(principalUid) ?? 1) - 1;
    if (left > 0) this.byPrincipal.set(principalUid, left);
    else this.byPrincipal.delete(principalUid);
  }
}
