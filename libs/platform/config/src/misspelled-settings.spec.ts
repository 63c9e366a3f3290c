import { describe, expect, it } from 'vitest';
import { findMisspelledSettings } from './parse-settings.js';

describe('findMisspelledSettings', () => {
  it.each([
    ['MAX_CONCURENT_RUNS', 'MAX_CONCURRENT_RUNS'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['INGRES_PORT', 'INGRESS_PORT'],
    ['log_level', 'LOG_LEVEL'],
  ])('recognizes %s as a misspelling of %s', (given, meant) => {
    expect(findMisspelledSettings({ [given]: '1' })).toEqual([{ given, meant }]);
  });

  it.each([
    'HOME',
    'PATH',
    'MAX_CONCURRENT_RUNS',
    'HTTP_PROXY',
    'SSL_CERT_FILE',
    'NODE_OPTIONS',
    'INGRESS_PORT_80_TCP',
    'XDG_CONFIG_HOME',
  ])('does not report %s', (name) => {
    expect(findMisspelledSettings({ [name]: '1' })).toEqual([]);
  });
});
