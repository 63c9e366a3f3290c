import { describe, expect, it } from 'vitest';
import { parseTicketRef, ticketRef, ticketUrlFault } from './ticket.js';

describe('parseTicketRef', () => {
  it.each([
    ['linear:ENG-42', 'linear', 'ENG-42'],
    ['github:acme/shop#12', 'github', 'acme/shop#12'],
    ['slack:C01:1699.5', 'slack', 'C01:1699.5'],
    ['1.x_y-z:日本', '1.x_y-z', '日本'],
    [`s:${'x'.repeat(254)}`, 's', 'x'.repeat(254)],
  ])('reads %s, and writes it again', (ref, source, id) => {
    expect(parseTicketRef(ref)).toEqual({ source, id });
    expect(ticketRef({ source, id })).toBe(ref);
  });

  it.each([
    '',
    'ENG-42',
    ':ENG-42',
    'linear:',
    'linear: ENG-42',
    'linear:ENG 42',
    'lin ear:42',
    '-x:42',
    'linear:a\nb',
    'linear:a\u0000',
    'linear:a\u202eb',
    `${'s'.repeat(65)}:42`,
    `s:${'x'.repeat(255)}`,
    `s:${'ü'.repeat(128)}`,
  ])('does not read %j', (ref) => {
    expect(parseTicketRef(ref)).toBeNull();
  });
});

describe('ticketUrlFault', () => {
  it.each(['https://linear.example.com/ENG-42', 'http://127.0.0.1:8080/x?y#z'])('finds none in %s', (url) => {
    expect(ticketUrlFault(url)).toBeNull();
  });

  it.each([
    ['/ENG-42', 'absolute'],
    ['ftp://example.com/x', 'absolute'],
    ['javascript:alert(1)', 'absolute'],
    ['https://', 'absolute'],
    [' https://example.com/x', 'absolute'],
    ['https://example.com/x\n', 'absolute'],
    ['https://example.com/\u202ex', 'absolute'],
    ['https://me:secret@example.com', 'must not hold'],
    ['https://me@example.com', 'must not hold'],
  ])('%s: %s', (url, fault) => {
    expect(ticketUrlFault(url)).toContain(fault);
  });
});
