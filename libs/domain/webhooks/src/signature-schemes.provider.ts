import type { FactoryProvider } from '@nestjs/common';
import { SIGNATURE_SCHEMES } from './domain/signing/all-schemes.js';
import { SignatureSchemes } from './domain/signing/signature-schemes.js';

/** The schemes of this installation; one more is one more row in all-schemes.ts. */
export const signatureSchemesProvider: FactoryProvider<SignatureSchemes> = {
  provide: SignatureSchemes,
  useFactory: () => new SignatureSchemes(SIGNATURE_SCHEMES),
};
