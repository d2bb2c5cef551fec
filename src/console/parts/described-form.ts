import { isObject } from '../../domain/is-object.ts';
import { picked } from '../../domain/picked.ts';
import type { Html } from '../../html/html.ts';
import { digest } from '../../http/entity-tag.ts';
import { hiddenField } from './forms.ts';
import type { Form, Problems } from './typed-form.ts';

/**
 * What a form about a description shows of each field, as digests: the texts themselves would make the form twice as long. A field that the
 * user has not touched stays as it is stored, even if others have changed it.
 * @param typed the fields; those of a form that was sent still know what its page showed
 * @param current what is stored
 */
export const seenField = (typed: Form, current: object, fields: readonly string[]): Html =>
  hiddenField(
    'seen',
    typed.text('seen') || JSON.stringify(Object.fromEntries(fields.map((field) => [field, digestIn(current, field)]))),
  );

/** What the user changed, and which of that others have changed since the form was made. */
export function editedIn<C extends object, F extends keyof C & string>(
  form: Form,
  { typed, current, fields }: { readonly typed: C; readonly current: object; readonly fields: readonly F[] },
): { readonly wanted: Partial<Pick<C, F>>; readonly outdated: readonly string[] } {
  const seen = seenIn(form);
  const edited = fields.filter((field) => digestIn(typed, field) !== seen[field]);
  return {
    wanted: picked(typed, edited),
    outdated: edited.filter((field) => digestIn(current, field) !== seen[field]),
  };
}

function digestIn(values: object, field: string): string {
  const value: unknown = Reflect.get(values, field) ?? null;
  // JSON has no NaN, which stands for what is no number.
  return digest(typeof value === 'number' ? String(value) : JSON.stringify(value));
}

function seenIn(form: Form): Readonly<Record<string, unknown>> {
  try {
    const seen: unknown = JSON.parse(form.text('seen'));
    return isObject(seen) ? seen : {};
  } catch {
    return {};
  }
}

/** What a form says of the fields that others have changed meanwhile. */
export const outdatedProblems = (outdated: readonly string[], labels: Readonly<Record<string, string>>): Problems => ({
  '': "Someone else changed this in the meantime. Your changes weren't saved. Look again, and save again.",
  ...Object.fromEntries(
    outdated.map((field) => [field, `“${labels[field]}” was changed meanwhile. Your value is still in the field.`]),
  ),
});
