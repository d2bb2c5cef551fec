import { type Refusal, refuseField } from '../domain/decision.ts';
import { type TextLimit, wrongText } from '../domain/limits.ts';

/** A run of spaces of any kind. Browsers collapse plain spaces but show the other kinds. */
const SPACES = /\p{Zs}+/gu;

/**
 * Normalises an app's name: any run of spaces becomes one plain space, so that names that look alike are equal. Refuses a wrong length,
 * or characters that could change how the surrounding page reads (`ValidationError`, naming the field).
 */
export function toAppName(field: string, name: string, limit: TextLimit): string | Refusal {
  const wrong = wrongText(field, name, limit);
  if (wrong !== undefined) return wrong;
  // Compiled on first use, because that takes 20 ms of the start. These characters are invisible or change how their neighbours are
  // shown; the last is a letter of Braille without dots.
  const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/v;
  // More marks on one letter than any script needs. They would cover the lines above.
  const pile = /\p{M}{5}/v;
  // Some emoji are joined or selected by such characters.
  const emoji = /\p{RGI_Emoji}/gv;
  if (invisible.test(name.replace(emoji, '')))
    return refuseField(field, 'must not have control, format or other invisible characters');
  if (pile.test(name)) return refuseField(field, 'must not have more than 4 accents on one letter');
  return name.replace(SPACES, ' ').trim();
}
