import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.LocalDate;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.BookingsApi;
import org.openapitools.client.api.CustomersApi;
import org.openapitools.client.api.ReviewsApi;
import org.openapitools.client.api.SpacesApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.BookingStatus;
import org.openapitools.client.model.CreateBooking;
import org.openapitools.client.model.CreateCustomer;
import org.openapitools.client.model.CreateWebhook;
import org.openapitools.client.model.MoveBooking;

/** Signs in and refreshes with the JDK's HttpURLConnection, and calls every operation with a client that openapi-generator generates. */
public class Client {
  private static final String REDIRECT = "http://127.0.0.1:9/callback";
  private static final String VERIFIER = "verifier-".repeat(6);

  public static void main(String[] arguments) throws Exception {
    JsonObject known = JsonParser.parseString(arguments[0]).getAsJsonObject();
    String url = known.get("url").getAsString();
    String clientId = register(url);
    System.out.println("OPEN " + authorization(url, clientId));
    String callback = new BufferedReader(new InputStreamReader(System.in)).readLine();
    String code = callback.replaceAll("^.*[?&]code=([^&]*).*$", "$1");
    String endpoint = url + "/connect/token";
    Map<String, String> exchange = Map.of("grant_type", "authorization_code", "client_id", clientId, "code", code,
        "code_verifier", VERIFIER, "redirect_uri", REDIRECT, "resource", "api");
    JsonObject tokens = JsonParser.parseString(post(endpoint, form(exchange))).getAsJsonObject();
    Map<String, String> refresh = Map.of("grant_type", "refresh_token", "client_id", clientId,
        "refresh_token", tokens.get("refresh_token").getAsString(), "resource", "api");
    JsonObject refreshed = JsonParser.parseString(post(endpoint, form(refresh))).getAsJsonObject();

    ApiClient client = new ApiClient().setBasePath(url + "/api/v1");
    client.setBearerToken(refreshed.get("access_token").getAsString());
    Map<String, Object> done = callAll(client, known);
    done.put("refreshed", !refreshed.get("access_token").equals(tokens.get("access_token")));
    // HttpURLConnection prefers HTML by default: a used code is still answered in JSON.
    done.put("refused", JsonParser.parseString(post(endpoint, form(exchange))).getAsJsonObject().get("error").getAsString());
    System.out.println(new Gson().toJson(done));
  }

  private static Map<String, Object> callAll(ApiClient client, JsonObject known) throws Exception {
    long space = known.get("spaceId").getAsLong();
    long booking = known.get("bookingId").getAsLong();
    SpacesApi spaces = new SpacesApi(client);
    BookingsApi bookings = new BookingsApi(client);
    WebhooksApi webhooks = new WebhooksApi(client);
    LocalDate date = LocalDate.of(2026, 12, 10);
    Map<String, Integer> statuses = new LinkedHashMap<>();
    statuses.put("listSpaces", spaces.listSpacesWithHttpInfo(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null).getStatusCode());
    statuses.put("getSpace", spaces.getSpaceWithHttpInfo(space, null).getStatusCode());
    var available = spaces.getAvailabilityWithHttpInfo(space, date, null);
    statuses.put("getAvailability", available.getStatusCode());
    var request = new CreateBooking().spaceId(space).startTime(date)
        .startHour(available.getData().getTimeSlots().get(0).getHour());
    var booked = bookings.createBookingWithHttpInfo(request, "first");
    statuses.put("createBooking", booked.getStatusCode());
    statuses.put("listBookings", bookings.listBookingsWithHttpInfo(null, null, BookingStatus.PENDING).getStatusCode());
    statuses.put("getBooking", bookings.getBookingWithHttpInfo(booking, null).getStatusCode());
    var history = bookings.getBookingHistoryWithHttpInfo(booking, null, null);
    statuses.put("getBookingHistory", history.getStatusCode());
    long community = known.get("communityId").getAsLong();
    statuses.put("listReviews", new ReviewsApi(client).listReviewsWithHttpInfo(community, null).getStatusCode());
    var webhook = new CreateWebhook().url(URI.create("https://hooks.example.com/")).events(15);
    var registered = webhooks.createWebhookWithHttpInfo(webhook);
    statuses.put("createWebhook", registered.getStatusCode());
    statuses.put("listWebhooks", webhooks.listWebhooksWithHttpInfo().getStatusCode());
    statuses.put("deleteWebhook", webhooks.deleteWebhookWithHttpInfo(registered.getData().getId()).getStatusCode());
    var to = new MoveBooking().startTime(date.plusDays(1));
    long id = bookings.moveBookingWithHttpInfo(booked.getData().getId(), to).getData().getId();
    // The community takes the move by asking for the same.
    ApiClient house = new ApiClient().setBasePath(client.getBasePath());
    house.setBearerToken(known.get("communityKey").getAsString());
    var moved = new BookingsApi(house).moveBookingWithHttpInfo(id, to);
    statuses.put("moveBooking", moved.getStatusCode());
    CustomersApi customers = new CustomersApi(house);
    statuses.put("createCustomer", customers.createCustomerWithHttpInfo(new CreateCustomer().name("Choir")).getStatusCode());
    var listed = customers.listCustomersWithHttpInfo("choir");
    statuses.put("listCustomers", listed.getStatusCode());
    Map<String, Object> done = new LinkedHashMap<>();
    done.put("statuses", statuses);
    done.put("moved", List.of(moved.getData().getDate().toString(), moved.getData().getStatus().getValue()));
    done.put("customers", List.of(listed.getData().get(0).getName()));
    done.put("totalPrice", booked.getData().getTotalPrice());
    done.put("charged", history.getData().get(1).getChanges().get("charge").getTo());
    return done;
  }

  private static String register(String url) throws IOException {
    String metadata = new Gson().toJson(Map.of("client_name", "openapi-generator", "redirect_uris", new String[] {REDIRECT},
        "grant_types", new String[] {"authorization_code", "refresh_token"}, "token_endpoint_auth_method", "none"));
    String answer = send(url + "/connect/register", "application/json", metadata);
    return JsonParser.parseString(answer).getAsJsonObject().get("client_id").getAsString();
  }

  private static String authorization(String url, String clientId) throws Exception {
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(VERIFIER.getBytes(StandardCharsets.US_ASCII));
    return url + "/connect/authorize?" + form(Map.of("client_id", clientId, "response_type", "code", "redirect_uri", REDIRECT,
        "scope", "openid offline_access service.api.read service.api.write service.api.webhooks", "resource", "api",
        "code_challenge", Base64.getUrlEncoder().withoutPadding().encodeToString(digest), "code_challenge_method", "S256"));
  }

  private static String form(Map<String, String> fields) {
    StringBuilder form = new StringBuilder();
    fields.forEach((name, value) -> form.append(form.isEmpty() ? "" : "&").append(name).append("=")
        .append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
    return form.toString();
  }

  private static String post(String url, String form) throws IOException {
    return send(url, "application/x-www-form-urlencoded", form);
  }

  private static String send(String url, String type, String body) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
    connection.setDoOutput(true);
    connection.setRequestProperty("Content-Type", type);
    connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
    InputStream answer = connection.getResponseCode() < 400 ? connection.getInputStream() : connection.getErrorStream();
    return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
  }
}
